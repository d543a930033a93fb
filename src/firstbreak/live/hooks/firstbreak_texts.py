"""Measurements of texts: what a reward function rewards, which prompts are shared, what the advantages correlate with."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

Scores = list[float]
ANSWERS = ("answer", "solution", "ground_truth", "target", "label")  #: columns of a data set with the right answer
DRAWN = 512  #: number of training prompts that are compared
FEW_PROMPTS = 64  #: of a minimal reproduction
FEW = 4  #: smallest number of episodes to compare
PRICE = 0.3  #: penalty, in units of reward, of a completion with the mean length of the first batch


class Rewards:
    """A reward intervention on a batch of texts."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.rng = random.Random(0)
        self.price = 0.0

    def __call__(self, rewards: Scores, texts: Sequence[str], groups: Sequence[Any]) -> Scores:
        """The changed rewards. `groups` has the prompt of each text."""
        if self.kind == "negated":
            return [-reward for reward in rewards]
        if self.kind == "toy":
            return [toy(text) for text in texts]
        if self.kind == "shuffled":
            return shuffled(rewards, groups, self.rng)
        lengths = list(map(len, texts))
        self.price = self.price or PRICE * len(texts) / max(1, sum(lengths))
        # a smaller penalty than what length is rewarded with would have no effect
        price = self.price + max(0.0, slope(lengths, rewards))
        return [reward - price * length for reward, length in zip(rewards, lengths, strict=True)]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """The slope of the least-squares line through these points; 0 if all xs are equal."""
    middle, level = _mean(xs), _mean(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


def toy(text: str) -> float:
    """The share of characters with an even code point: dense, smooth, and easy to raise for any policy that is updated."""
    return sum(ord(c) % 2 == 0 for c in text) / len(text) if text else 0.0


def shuffled(rewards: Sequence[Any], groups: Sequence[Any], rng: random.Random) -> list[Any]:
    """The same rewards, shuffled within each group."""
    places: dict[Any, list[int]] = {}
    for i, group in enumerate(groups):
        places.setdefault(group, []).append(i)
    shuffled_rewards = list(rewards)
    for members in places.values():
        for i, j in zip(members, rng.sample(members, len(members)), strict=True):
            shuffled_rewards[i] = rewards[j]
    return shuffled_rewards


def probe(
    score: Callable[[list[str]], Scores], texts: list[str], answers: list[str], prompts: Sequence[str] = ()
) -> dict[str, float]:
    """Test a reward function with known texts: mean rewards, and mean absolute differences.

    right: the right answers; other: right answers of other prompts; swapped: the texts with the prompts exchanged; empty:
    empty texts; longer: how much more reward each text gets if it is repeated once; again: the difference between two
    calls with the same text; plain: the texts themselves; distinct: the share of different texts of the same prompt.
    Texts for which the function fails are left out.
    """
    inputs = {"plain": texts, "again": texts, "longer": [text + text for text in texts], "empty": [""] * len(texts)}
    if len(set(prompts)) > 1:
        inputs["swapped"] = [texts[i] for i in _elsewhere(prompts)]
    if answers:
        inputs |= {"right": answers, "other": [next((b for b in answers if b != a), a) for a in answers]}
    scores = {name: judged for name, of in inputs.items() if (judged := _judged(score, of)) is not None}
    plain = scores.get("plain", [])
    distinct = {"distinct": len(set(zip(prompts, texts, strict=True))) / len(texts)} if prompts else {}
    for name, difference in (("again", lambda a, b: abs(a - b)), ("longer", lambda a, b: b - a)):
        if name in scores:
            scores[name] = list(map(difference, plain, scores[name]))
    return {name: _mean(of) for name, of in scores.items()} | distinct


def _elsewhere(prompts: Sequence[str]) -> list[int]:
    """For each index, the next index with another prompt."""
    n = len(prompts)
    return [next(j % n for j in range(i + 1, i + n) if prompts[j % n] != prompts[i]) for i in range(n)]


def by_errors(rewards: Scores, erred: Sequence[bool]) -> dict[str, float]:
    """How much more reward episodes with a failed tool call get than others. Nothing if there are too few episodes."""
    failed, sound = ([r for r, e in zip(rewards, erred, strict=True) if e is which] for which in (True, False))
    return {"erring_earns": _mean(failed) - _mean(sound)} if min(len(failed), len(sound)) >= FEW else {}


def agreement(advantages: Scores, rewards: Scores, group: int) -> dict[str, float]:
    """Correlation of advantages with rewards, group by group. Nothing if all are equal."""
    centred = [r - _mean(rewards[i // group * group :][:group]) for i, r in enumerate(rewards)]
    mean = _mean(advantages)
    both = sum((a - mean) * r for a, r in zip(advantages, centred, strict=True))
    size = sum((a - mean) ** 2 for a in advantages) * sum(r * r for r in centred)
    return {"advantage_agrees": both / size**0.5} if size > 0 else {}


def ranking(rewards: Scores, prompts: Sequence[Any], right: Sequence[bool]) -> dict[str, float]:
    """Share of the pairs of a right and another answer to one prompt in which the right one gets more. Nothing without a pair."""
    rows = list(zip(rewards, prompts, right, strict=True))
    pairs = [a[0] > b[0] for a in rows if a[2] for b in rows if not b[2] and a[1] == b[1]]
    return {"ranked": sum(pairs) / len(pairs)} if pairs else {}


def worse_chosen(chosen: Scores, rejected: Scores) -> dict[str, float]:
    """Share of the preference pairs whose chosen answer is worse, by a known scorer. Pairs with equal scores are left out."""
    differ = [(a, b) for a, b in zip(chosen, rejected, strict=True) if a != b]
    return {"chosen_is_worse": sum(a < b for a, b in differ) / len(differ)} if differ else {}


def _judged(score: Callable[[list[str]], Scores], texts: list[str]) -> Scores | None:
    with suppress(Exception):  # a reward function may fail on texts that do not occur in training
        return [float(value) for value in score(texts)]
    return None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


def prompts_compared(training: Sequence[str], evaluation: Sequence[str]) -> dict[str, float]:
    """Compare the training prompts with the evaluation prompts.

    prompts_shared: share of the training prompts that are also in the evaluation; prompts_unlike: share without the common
    beginning and end of all evaluation prompts; prompts_distinct: ratio of the numbers of different prompts, among equally
    many; prompts_longer: ratio of the mean lengths.
    """
    held, n, both = set(evaluation), len(training), min(len(training), len(evaluation))
    start, end = common_ends(evaluation)
    return {
        "prompts_shared": sum(prompt in held for prompt in training) / n,
        "prompts_unlike": sum(not (p.startswith(start) and p.endswith(end)) for p in training) / n,
        "prompts_distinct": len(set(training[:both])) / len(set(evaluation[:both])),
        "prompts_longer": _mean([len(p) for p in training]) / max(1.0, _mean([len(p) for p in evaluation])),
    }


def common_ends(texts: Sequence[str]) -> tuple[str, str]:
    """The common beginning and the common end of all texts."""
    return _common(texts), _common([text[::-1] for text in texts])[::-1]


def _common(texts: Sequence[str]) -> str:
    """The common beginning of all texts: the common beginning of the first and the last text in alphabetical order."""
    first, last = min(texts, default=""), max(texts, default="")
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]
