"""Does the reward have the right sign, does it separate good from bad, and which wrong completions does it accept?

The function runs on given samples (distribution.py), on completions made to cheat it and on right answers in other
notations (attacks.py), and, where it is a reward model, on pairs that people have labelled (pairs.py).
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np

from firstbreak.model import Link, NotMeasured, Outcome
from firstbreak.preflight import Answer, Report, asking, critical, histogram, notice, warning
from firstbreak.preflight.reward import attacks, distribution, pairs, references, suites
from firstbreak.preflight.reward.functions import Failed, RewardFunction, open_judge
from firstbreak.preflight.reward.items import Item
from firstbreak.preflight.reward.items import items as read_items
from firstbreak.preflight.reward.items import pairs as read_pairs
from firstbreak.readers import Unreadable
from firstbreak.values import replace
from firstbreak.words import number

REPEATED = 50  #: samples that are scored again, alone and in reverse order (convention)
TOLERANCE = 1e-6  #: relative and absolute: float32 sums in another order differ less
SLOW = 1.0  #: seconds for one completion: generation is often faster (convention)
FAILS = "the function fails here, beside all samples as well: {}; a batch with such completions stops a run"
_ask = asking(Link.REWARD, Failed, FAILS)


def check(
    function: str,
    samples: str | None = None,
    *,
    pairs: str | None = None,
    group_size: int = 8,
    column: Mapping[str, str] | None = None,
) -> Report:
    """Check the reward function `module:function` on `samples` (a dump, JSON lines or CSV), or a reward model on `pairs`.

    `column` says which column has which role (prompt, completion, answer, human, group, chosen, rejected, category);
    `group_size` is the number of completions of a prompt that the run will draw. Raises `Unreadable`.
    """
    if samples is None and pairs is None:
        raise Unreadable(function, "there is nothing to score", "give samples, or pairs with --pairs")
    columns = column or {}
    of_samples = {
        role: n for role, n in columns.items() if pairs is None or role not in ("chosen", "rejected", "category")
    }
    items = [] if samples is None else read_items(samples, of_samples)
    labelled = [] if pairs is None else read_pairs(pairs, columns)
    judge = open_judge(function, items)
    parts = ([_samples(judge, items, group_size)] if items else []) + ([_pairs(judge, labelled)] if labelled else [])
    facts = [("Called as", judge.signature + (" with chats" if judge.chats else ""))]
    return Report(
        check="reward",
        target=function,
        outcomes=tuple(outcome for part in parts for outcome in part.outcomes),
        summary=" ".join(part.summary for part in parts).strip(),
        checked=(*facts, *(fact for part in parts for fact in part.checked)),
        exhibits=tuple(exhibit for part in parts for exhibit in part.exhibits),
        numbers={name: value for part in parts for name, value in part.numbers.items()},
    )


def _samples(judge: RewardFunction, items: Sequence[Item], group_size: int) -> Report:
    if lacking := judge.lacks(items[0]):
        return _recorded(judge, items, group_size, lacking)
    start = time.perf_counter()
    try:
        rewards = judge(items)
    except Failed as failed:
        worst = _first_failure(judge, items)
        said = f"the function fails on the samples: {failed}{worst}; a run would stop here, or score the batch as 0"
        return _report(judge, (_ask("reward-answers", lambda: critical(said)),))
    seconds = (time.perf_counter() - start) / len(items)
    judge = replace(judge, beside=tuple(items))
    suite = suites.attack(judge, items, rewards)
    outcomes = [
        _ask("reward-answers", lambda: _answers(judge, len(items), seconds)),
        _ask("reward-finite", lambda: distribution.finite(rewards)),
        _ask("reward-repeatable", lambda: _repeatable(judge, items, rewards)),
        *_of_rewards(items, rewards, group_size),
        _ask("reward-right-from-wrong", lambda: suites.right_from_wrong(suite)),
        _ask("reward-false-positives", lambda: suites.false_positives(suite)),
        _ask("reward-false-negatives", lambda: suites.false_negatives(suite)),
        _ask("reward-nothing-pays", lambda: _nothing_pays(judge, items, rewards)),
    ]
    return _report(
        judge,
        outcomes,
        checked=(("Samples", f"{len(items)}, {len({i.group for i in items})} prompts"), *suites.lines(suite)),
        exhibits=(histogram("Rewards of the samples", {"samples": rewards}), *suites.tables(suite)),
        numbers={"rewards": rewards, "seconds_per_completion": seconds, **suites.numbers(suite)},
    )


def _of_rewards(items: Sequence[Item], rewards: np.ndarray, group_size: int) -> list[Outcome]:
    """What the rewards of the samples show, whoever gave them."""
    return [
        _ask("reward-distribution", lambda: distribution.shape(rewards)),
        _ask("reward-scale", lambda: distribution.scale(rewards)),
        _ask("reward-direction", lambda: distribution.direction(items, rewards)),
        _ask("reward-human", lambda: distribution.human(items, rewards)),
        _ask("reward-length", lambda: distribution.length(items, rewards)),
        _ask("reward-density", lambda: distribution.density(items, rewards, group_size)),
        _ask("reward-references", lambda: references.belong(items)),
    ]


def _recorded(judge: RewardFunction, items: Sequence[Item], group_size: int, lacking: Sequence[str]) -> Report:
    """The rewards that the dump holds, where it lacks a column that the function needs: that is no fault of the function."""
    names = ", ".join(lacking)
    said = f"the function asks for {names}, which the samples do not hold: add it to them, or name it (--column answer=NAME)"
    rewards = np.array([np.nan if item.reward is None else item.reward for item in items])
    known = bool(np.isfinite(rewards).any())
    of_rewards = _of_rewards(items, rewards, group_size) if known else ()
    return _report(
        judge,
        [_ask("reward-answers", lambda: NotMeasured(said)), *of_rewards],
        summary=f"The function could not be called: {said}.",
        checked=(
            ("Samples", f"{len(items)}, {len({i.group for i in items})} prompts"),
            ("Rewards", f"those that the samples hold, because they lack {names}" if known else "none"),
        ),
        exhibits=(histogram("Rewards of the samples", {"samples": rewards}),) if known else (),
        numbers={"rewards": rewards},
    )


def _pairs(judge: RewardFunction, labelled: Sequence[Any]) -> Report:
    try:
        data = pairs.scored(judge, labelled)
        edited = pairs.edits(judge, data)
    except Failed as failed:
        said = f"the function fails on the pairs: {failed}; call the function on this pair alone"
        return _report(judge, (_ask("reward-answers", lambda: critical(said)),))
    outcomes = [
        _ask("reward-pairs-accuracy", lambda: pairs.accuracy(data)),
        _ask("reward-pairs-calibration", lambda: pairs.calibration(data)),
        _ask("reward-pairs-length", lambda: pairs.length(data)),
        _ask("reward-pairs-style", lambda: pairs.style(edited)),
    ]
    margins = histogram("Score of the better completion minus score of the other", {"pairs": data.margin})
    return _report(
        judge,
        outcomes,
        checked=(("Pairs", str(len(labelled))),),
        exhibits=(margins, *pairs.tables(data, edited)),
        numbers={
            "pairs_accuracy": float(data.right.mean()),
            "pairs_calibration_error": pairs.calibration_error(data.margin),
            "pairs_scale": pairs.best_scale(data.margin),
            "pairs_edits": {e.name: {"turned": e.turned, "shift": e.shift} for e in edited},
        },
    )


def _report(judge: RewardFunction, outcomes: Sequence[Outcome], **more: Any) -> Report:
    return Report(check="reward", target=judge.name, outcomes=tuple(outcomes), **more)


def _answers(judge: RewardFunction, n: int, seconds: float) -> Answer:
    if judge.refuses:
        return warning(
            f"the function has no parameter {', '.join(judge.refuses)}, which TRL passes by name: training stops at "
            "the first step with a TypeError; add **kwargs to its parameters"
        )
    said = f"{n} completions scored, {number(float(f'{1000 * seconds:.3g}'))} ms each"
    if seconds > SLOW:
        return notice(f"{said}: scoring may take longer than generating; score in parallel, or cache the scores")
    return said


def _first_failure(judge: RewardFunction, items: Sequence[Item]) -> str:
    """The first sample on which the function fails alone."""
    for i, item in enumerate(items[:REPEATED]):
        try:
            judge([item])
        except Failed as failed:
            return f" (sample {i + 1} alone: {failed})"
    return ""


def _repeatable(judge: RewardFunction, items: Sequence[Item], rewards: np.ndarray) -> Answer:
    """The same completion gets the same reward: again, in reverse order, and alone."""
    some = list(items[:REPEATED])
    again = judge(some)
    try:
        parts = [replace(judge, beside=())(list(group)) for _, group in groupby(some, lambda item: item.group)]
        alone = np.concatenate(parts)
    except Failed as failed:
        return warning(
            f"the function scores {len(items)} samples together, and fails on those of one prompt: {failed}; does it need "
            "a whole batch?"
        )
    backwards = judge(some[::-1])[::-1]
    first = rewards[: len(some)]
    for name, other, level, remedy in (
        ("again", again, warning, "fix its temperature and seed, or score several times and take the median"),
        (
            "in reverse order",
            backwards,
            critical,
            "the reward depends on the place in the batch: look for an index that is shared or shifted",
        ),
        ("with the others of its prompt alone", alone, notice, "it depends on other prompts, perhaps on purpose"),
    ):
        differ = ~np.isclose(first, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        if differ.any():
            i = int(np.argmax(differ))
            return level(
                f"{int(differ.sum())} of {len(some)} samples get a different reward when they are scored {name} (sample {i + 1}: "
                f"{number(float(first[i]))} and {number(float(other[i]))}): a policy cannot learn from noise; {remedy}"
            )
    return f"{len(some)} samples get the same reward again, in reverse order and prompt by prompt"


def _nothing_pays(judge: RewardFunction, items: Sequence[Item], rewards: np.ndarray) -> Answer:
    """An empty completion, or the prompt, does not get a higher reward than most samples."""
    values = rewards[np.isfinite(rewards)]
    if len(values) < distribution.MIN_SAMPLES or np.ptp(values) == 0:
        return NotMeasured("needs samples whose rewards differ")
    bar, some = float(np.quantile(values, 0.75)), items[: suites.ATTACKED]
    paid = []
    for kind in ("empty", "blanks", "echo of the prompt"):
        generate = attacks.REFUSE[kind]
        texts = [generate(item, item.answer or "", str) for item in some]
        scores = judge(attacks.replaced(some, texts))
        if scores.size and float(np.nanmean(scores)) > bar:
            paid.append(f"'{kind}' earns {number(float(np.nanmean(scores)))}")
    if paid:
        return critical(
            f"{'; '.join(paid)}, more than three quarters of the samples ({number(bar)}): the reward prefers empty "
            "answers; give them the lowest reward"
        )
    return "empty and echoed completions get a lower reward than the better samples"
