"""Does the reward point the right way, does it tell good from bad, and what gets past it?

The function runs on given samples (distribution.py), on completions made to cheat it and on right answers in other
notations (attacks.py), and, where it is a reward model, on pairs that people have labelled (pairs.py).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstbreak.model import Link, NotApplicable, NotMeasured, Outcome
from firstbreak.preflight import Answer, Report, Table, ask, critical, histogram, intervals, notice, warning
from firstbreak.preflight.reward import attacks, distribution, pairs
from firstbreak.preflight.reward.functions import Failed, Judge, open_judge
from firstbreak.preflight.reward.items import Item
from firstbreak.preflight.reward.items import items as read_items
from firstbreak.preflight.reward.items import pairs as read_pairs
from firstbreak.readers import Unreadable
from firstbreak.words import number, percent

ATTACKED = 40  # prompts: enough for an interval of 10 points around a rate
REPEATED = 50  # samples that are scored again, alone and in another order
TOLERANCE = 1e-6
FALSE_POSITIVE, FALSE_NEGATIVE = 0.01, 0.05
SLOW = 1.0  # seconds a completion


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
    items = [] if samples is None else read_items(samples, columns if pairs is None else _without_pairs(columns))
    labelled = [] if pairs is None else read_pairs(pairs, columns)
    judge = open_judge(function, items)
    parts = ([_samples(judge, items, group_size)] if items else []) + ([_pairs(judge, labelled)] if labelled else [])
    facts = [("Called as", judge.signature + (" with chats" if judge.chats else ""))]
    return Report(
        check="reward",
        target=function,
        outcomes=tuple(outcome for part in parts for outcome in part.outcomes),
        facts=(*facts, *(fact for part in parts for fact in part.facts)),
        exhibits=tuple(exhibit for part in parts for exhibit in part.exhibits),
        numbers={name: value for part in parts for name, value in part.numbers.items()},
    )


def _without_pairs(columns: Mapping[str, str]) -> dict[str, str]:
    """The roles of samples, where samples and pairs are given together."""
    return {role: name for role, name in columns.items() if role not in ("chosen", "rejected", "category")}


def _samples(judge: Judge, items: Sequence[Item], group_size: int) -> Report:
    start = time.perf_counter()
    try:
        rewards = judge(items)
    except Failed as failed:
        worst = _first_failure(judge, items)
        said = f"the function fails on the samples: {failed}{worst}; a run would stop there, or score the batch as 0"
        return Report(check="reward", target=judge.name, outcomes=(_ask("reward-answers", lambda: critical(said)),))
    seconds = (time.perf_counter() - start) / len(items)
    suite = attack(judge, items, rewards)
    outcomes = [
        _ask("reward-answers", lambda: _answers(judge, len(items), seconds)),
        _ask("reward-finite", lambda: distribution.finite(rewards)),
        _ask("reward-repeatable", lambda: _repeatable(judge, items, rewards)),
        _ask("reward-distribution", lambda: distribution.shape(rewards)),
        _ask("reward-direction", lambda: distribution.direction(items, rewards)),
        _ask("reward-human", lambda: distribution.human(items, rewards)),
        _ask("reward-length", lambda: distribution.length(items, rewards)),
        _ask("reward-density", lambda: distribution.density(items, rewards, group_size)),
        _ask("reward-right-from-wrong", lambda: _right_from_wrong(suite)),
        _ask("reward-false-positives", lambda: _false_positives(suite)),
        _ask("reward-false-negatives", lambda: _false_negatives(suite)),
        _ask("reward-nothing-pays", lambda: _nothing_pays(judge, items, rewards)),
    ]
    return Report(
        check="reward",
        target=judge.name,
        outcomes=tuple(outcomes),
        facts=(("Samples", f"{len(items)}, {len({i.group for i in items})} prompts"), *_suite_facts(suite)),
        exhibits=(histogram("Rewards of the samples", {"samples": rewards}), *_suite_tables(suite)),
        numbers=_numbers(items, rewards, suite, seconds),
    )


def _pairs(judge: Judge, labelled: Sequence[Any]) -> Report:
    try:
        data = pairs.scored(judge, labelled)
        edited = pairs.edits(judge, data)
    except Failed as failed:
        said = f"the function fails on the pairs: {failed}; call it on that pair alone"
        return Report(check="reward", target=judge.name, outcomes=(_ask("reward-answers", lambda: critical(said)),))
    outcomes = [
        _ask("reward-pairs-accuracy", lambda: pairs.accuracy(data)),
        _ask("reward-pairs-calibration", lambda: pairs.calibration(data)),
        _ask("reward-pairs-length", lambda: pairs.length(data)),
        _ask("reward-pairs-style", lambda: pairs.style(edited)),
    ]
    margins = histogram("Score of the better completion minus score of the other", {"pairs": data.margin})
    return Report(
        check="reward",
        target=judge.name,
        outcomes=tuple(outcomes),
        facts=(("Pairs", str(len(labelled))),),
        exhibits=(margins, *pairs.tables(data, edited)),
        numbers={
            "pairs_accuracy": float(data.right.mean()),
            "pairs_calibration_error": pairs.calibration_error(data.margin),
            "pairs_scale": pairs.best_scale(data.margin),
            "pairs_edits": {e.name: {"turned": e.turned, "shift": e.shift} for e in edited},
        },
    )


@dataclass(frozen=True)
class Suite:
    """What the adversarial suite gave."""

    carrier: str  #: the form in which right answers earn most
    right: float  #: mean score of right answers in it
    wrong: float  #: mean score of wrong ones
    results: Mapping[str, tuple[bool, int, int]]  #: kind -> (deserves the reward, cases, cases rewarded)
    failures: Mapping[str, str]  #: kind -> what the function did instead of scoring it

    @property
    def bar(self) -> float:
        """What counts as rewarded: half-way between wrong and right answers."""
        return (self.right + self.wrong) / 2

    def mistakes(self, deserves: bool) -> dict[str, tuple[int, int]]:
        """Kind -> (cases judged wrongly, cases), for the cases that deserve a reward or those that do not."""
        return {
            kind: (cases - rewarded if deserves else rewarded, cases)
            for kind, (due, cases, rewarded) in self.results.items()
            if due is deserves
        }


def attack(judge: Judge, items: Sequence[Item], rewards: np.ndarray) -> Suite | None:
    """Run the suite on prompts whose right answer is known; None where none is."""
    known = list({item.group: item for item in items if item.answer}.values())[:ATTACKED]
    if not known:
        return None
    forms = dict(attacks.CARRIERS)
    if (learned := attacks.learned_carrier(items, rewards)) is not None:
        forms["as in the best-rewarded sample"] = learned
    tried = {name: _right_and_wrong(judge, known, form) for name, form in forms.items()}
    best = max(tried, key=lambda name: (tried[name][0], tried[name][0] - tried[name][1]))
    right, wrong = tried[best]
    results, failures = {}, {}
    if right > wrong:
        for deserves, kinds in ((False, attacks.REFUSE), (True, attacks.ACCEPT)):
            for kind in kinds:
                cases = attacks.cases(known, forms[best], {kind: kinds[kind]}, deserves)
                try:
                    scores = judge([case.item for case in cases])
                except Failed as failed:
                    failures[kind] = str(failed)
                    continue
                if cases:
                    rewarded = int(np.sum(scores >= (right + wrong) / 2))  # NaN is no reward
                    results[kind] = (deserves, len(cases), rewarded)
    return Suite(best, right, wrong, results, failures)


def _right_and_wrong(judge: Judge, items: Sequence[Item], form: attacks.Carrier) -> tuple[float, float]:
    """Mean scores of right and of wrong answers in a form; 0 where the function fails on it or gives none."""
    means = []
    for answer in (lambda a: a, attacks.wrong):
        try:
            scores = judge(attacks.carried(items, lambda a, change=answer: form(change(a))))  # type: ignore[misc]
        except Failed:
            return 0.0, 0.0
        means.append(float(np.nan_to_num(scores).mean()))
    return means[0], means[1]


def _ask(name: str, probe: Callable[[], Answer]) -> Outcome:
    """The probe's answer; a function that fails in the middle of a probe is a finding, not a crash of the probe."""

    def answered() -> Answer:
        try:
            return probe()
        except Failed as failed:
            return critical(
                f"the function fails here: {failed}; a run stops as soon as a policy writes such a completion"
            )

    return ask(name, Link.REWARD, answered)


def _answers(judge: Judge, n: int, seconds: float) -> Answer:
    if judge.refuses:
        return warning(
            f"it does not take {', '.join(judge.refuses)}, which TRL passes by name: training stops at the first step with a "
            "TypeError; add **kwargs to its parameters"
        )
    said = f"{n} completions scored, {number(float(f'{1000 * seconds:.3g}'))} ms each"
    if seconds > SLOW:
        return notice(f"{said}: scoring may take longer than generating; score in parallel, or cache")
    return said


def _first_failure(judge: Judge, items: Sequence[Item]) -> str:
    """Which sample it is, where one alone makes it fail."""
    for i, item in enumerate(items[:REPEATED]):
        try:
            judge([item])
        except Failed as failed:
            return f" (sample {i + 1} alone: {failed})"
    return ""


def _repeatable(judge: Judge, items: Sequence[Item], rewards: np.ndarray) -> Answer:
    """The same completion gets the same reward: again, alone, and in another order."""
    some = list(items[:REPEATED])
    again = judge(some)
    alone = np.concatenate([judge([item]) for item in some])
    backwards = judge(some[::-1])[::-1]
    first = rewards[: len(some)]
    for name, other, remedy in (
        ("again", again, "fix its temperature and seed, or score several times and take the median"),
        (
            "in reverse order",
            backwards,
            "it depends on its place in the batch: look for an index that is shared or shifted",
        ),
        ("alone", alone, "it depends on the other completions: say so in the run's notes if that is meant"),
    ):
        differ = ~np.isclose(first, other, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)
        if differ.any():
            i = int(np.argmax(differ))
            level = notice if name == "alone" else critical if name == "in reverse order" else warning
            return level(
                f"{int(differ.sum())} of {len(some)} samples get another reward when they are scored {name} (sample {i + 1}: "
                f"{number(float(first[i]))} and {number(float(other[i]))}): noise that no policy can learn from; {remedy}"
            )
    return f"{len(some)} samples get the same reward again, alone and in another order"


def _right_from_wrong(suite: Suite | None) -> Answer:
    if suite is None:
        return NotApplicable("no right answers are given (--column answer=NAME)")
    if suite.right <= suite.wrong:
        which = "less than" if suite.right < suite.wrong else "the same as"
        return critical(
            f"right answers score {which} wrong ones in the form that earns most, '{suite.carrier}' ({number(suite.right)} and "
            f"{number(suite.wrong)}): it pays for the form and not for the answer, the sign is reversed, the answers belong to "
            "other prompts, or it expects another form; read one right and one wrong answer, and give a sample that it rewards"
        )
    return f"right answers score {number(suite.right)}, wrong ones {number(suite.wrong)}, in the form '{suite.carrier}'"


def _false_positives(suite: Suite | None) -> Answer:
    if suite is None or not suite.results:
        return NotMeasured("needs right answers, and a form in which they are rewarded")
    mistakes = suite.mistakes(deserves=False)
    wrongly, cases = (sum(column) for column in zip(*mistakes.values(), strict=True))
    interval = intervals.wilson(wrongly, cases)
    said = _rate("completions that deserve nothing are rewarded", wrongly, cases)
    if failed := _failed(suite, attacks.REFUSE):
        return critical(f"{failed}; {said}")
    if wrongly / cases <= FALSE_POSITIVE:
        return said
    worst = _worst(mistakes)
    level = critical if max(w / n for w, n in mistakes.values()) > 0.5 else warning
    return level(
        f"{said}: {worst}. A policy finds this within a few hundred steps; refuse these in the verifier, and keep the suite "
        "as its test",
        false_positive=wrongly / cases,
        interval=interval,
    )


def _false_negatives(suite: Suite | None) -> Answer:
    if suite is None or not suite.results:
        return NotMeasured("needs right answers, and a form in which they are rewarded")
    mistakes = suite.mistakes(deserves=True)
    wrongly, cases = (sum(column) for column in zip(*mistakes.values(), strict=True))
    said = _rate("right answers are refused", wrongly, cases)
    if failed := _failed(suite, attacks.ACCEPT):
        return critical(f"{failed}; {said}")
    if wrongly / cases <= FALSE_NEGATIVE:
        return said
    return warning(
        f"{said}: {_worst(mistakes)}. Right answers are punished for their notation; normalise both sides before comparing",
        false_negative=wrongly / cases,
        interval=intervals.wilson(wrongly, cases),
    )


def _nothing_pays(judge: Judge, items: Sequence[Item], rewards: np.ndarray) -> Answer:
    """Saying nothing, or the prompt, is not worth more than most of the samples."""
    values = rewards[np.isfinite(rewards)]
    if len(values) < distribution.LEAST or np.ptp(values) == 0:
        return NotMeasured("needs samples whose rewards differ")
    bar, some = float(np.quantile(values, 0.75)), items[:ATTACKED]
    paid = []
    for kind in ("empty", "blanks", "echo of the prompt"):
        generate = attacks.REFUSE[kind]
        texts = [generate(item, item.answer or "", str) for item in some]
        scores = judge(attacks.replaced(some, texts))
        if scores.size and float(np.nanmean(scores)) > bar:
            paid.append(f"'{kind}' earns {number(float(np.nanmean(scores)))}")
    if paid:
        return critical(
            f"{'; '.join(paid)}, more than three quarters of the samples ({number(bar)}): silence pays; give it the lowest reward"
        )
    return "empty and echoed completions earn less than the better samples"


def _rate(what: str, wrongly: int, cases: int) -> str:
    low, high = intervals.wilson(wrongly, cases)
    return f"{wrongly} of {cases} {what} ({percent(wrongly / cases)}, 95 % interval {percent(low)} to {percent(high)})"


def _worst(mistakes: Mapping[str, tuple[int, int]]) -> str:
    """The three kinds that are judged wrongly most often."""
    ranked = sorted((item for item in mistakes.items() if item[1][0]), key=lambda item: -item[1][0] / item[1][1])[:3]
    return ", ".join(f"'{kind}' {percent(wrongly / cases)}" for kind, (wrongly, cases) in ranked)


def _failed(suite: Suite, kinds: Mapping[str, Any]) -> str:
    failed = [(kind, said) for kind, said in suite.failures.items() if kind in kinds]
    return (
        f"it fails on '{failed[0][0]}': {failed[0][1]}, which stops a run as soon as a policy writes that"
        if failed
        else ""
    )


def _suite_facts(suite: Suite | None) -> tuple[tuple[str, str], ...]:
    if suite is None or not suite.results:
        return ()
    cases = sum(cases for _, cases, _ in suite.results.values())
    return (
        (
            "Suite",
            f"{cases} completions in the form '{suite.carrier}'; a score of {number(suite.bar)} or more is a reward",
        ),
    )


def _suite_tables(suite: Suite | None) -> tuple[Table, ...]:
    if suite is None or not suite.results:
        return ()
    rows = []
    for kind, (deserves, cases, rewarded) in suite.results.items():
        wrongly = cases - rewarded if deserves else rewarded
        low, high = intervals.wilson(wrongly, cases)
        due = "reward" if deserves else "nothing"
        rows.append(
            (kind, due, f"{rewarded} of {cases}", percent(wrongly / cases), f"{percent(low)} to {percent(high)}")
        )
    columns = ("completion", "deserves", "rewarded", "wrongly", "95 % interval")
    return (Table(title="What gets past it, and what it refuses", columns=columns, rows=tuple(rows)),)


def _numbers(items: Sequence[Item], rewards: np.ndarray, suite: Suite | None, seconds: float) -> dict[str, Any]:
    numbers: dict[str, Any] = {"rewards": rewards, "seconds_per_completion": seconds}
    if suite is not None and suite.results:
        for name, deserves in (("false_positive", False), ("false_negative", True)):
            wrongly, cases = (sum(column) for column in zip(*suite.mistakes(deserves).values(), strict=True))
            numbers[name], numbers[f"{name}_interval"] = wrongly / cases, intervals.wilson(wrongly, cases)
        numbers["suite"] = {kind: {"cases": n, "rewarded": hits} for kind, (_, n, hits) in suite.results.items()}
    return numbers
