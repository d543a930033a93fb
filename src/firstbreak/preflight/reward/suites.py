"""The adversarial suite on one reward function: what got through, what was refused, and what that means."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, ReportTable, critical, intervals, notice, warning
from firstbreak.preflight.reward import attacks, references
from firstbreak.preflight.reward.functions import Failed, RewardFunction
from firstbreak.preflight.reward.items import Item
from firstbreak.values import dataclass
from firstbreak.words import number, percent

ATTACKED = 40  #: prompts: enough for an interval of 10 points around a rate
MIN_RIGHT = 20  #: right samples: fewer do not show how a policy writes (convention)
FALSE_POSITIVE, FALSE_NEGATIVE = 0.01, 0.05  #: shares of wrong decisions that a verifier may make (convention)


@dataclass(frozen=True)
class Suite:
    """What the adversarial suite gave."""

    carrier: str  #: the form in which right answers earn most
    right: float  #: mean score of right answers in it
    wrong: float  #: mean score of wrong ones
    results: Mapping[str, tuple[bool, int, int]]  #: kind -> (deserves the reward, cases, cases rewarded)
    failures: Mapping[str, str]  #: kind -> what the function did instead of scoring it
    paid: tuple[int, int] = (0, 0)  #: samples that give the right answer: rewarded, all
    mute: bool = False  #: everything that was made gets one and the same score, unlike the samples

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

    def total(self, deserves: bool) -> tuple[int, int]:
        """(cases judged wrongly, cases) over all kinds."""
        pairs = self.mistakes(deserves).values()
        return sum(wrongly for wrongly, _ in pairs), sum(cases for _, cases in pairs)


def attack(judge: RewardFunction, items: Sequence[Item], rewards: np.ndarray) -> Suite | None:
    """Run the suite on prompts whose right answer is known; None where none is."""
    known = list({item.group: item for item in items if item.answer}.values())[:ATTACKED]
    if not known:
        return None
    forms = dict(attacks.CARRIERS)
    if (learned := attacks.learned_carrier(items, rewards)) is not None:
        forms["as in the best-rewarded sample"] = learned
    tried = {name: means for name, form in forms.items() if (means := _right_and_wrong(judge, known, form)) is not None}
    if not tried:
        return Suite("plain", 0.0, 0.0, {}, {"right answer": "the function raises in every form that was tried"})
    if _mute(judge, known, forms, items, rewards):
        return Suite("plain", 0.0, 0.0, {}, {}, mute=True)
    best = max(tried, key=lambda name: (tried[name][0], tried[name][0] - tried[name][1]))
    right, wrong = tried[best]
    results: dict[str, tuple[bool, int, int]] = {}
    failures: dict[str, str] = {}
    kinds = [*((False, kind, make) for kind, make in attacks.REFUSE.items())]
    kinds += [(True, kind, make) for kind, make in attacks.ACCEPT.items()]
    for deserves, kind, make in kinds if right > wrong else ():
        cases = attacks.cases(known, forms[best], make)
        try:
            rewarded = int(np.sum(judge(cases) >= (right + wrong) / 2))  # NaN is no reward
        except Failed as failed:
            failures[kind] = str(failed)
        else:
            results |= {kind: (deserves, len(cases), rewarded)} if cases else {}
    return Suite(best, right, wrong, results, failures, references.paid(items, rewards, (right + wrong) / 2))


def _mute(
    judge: RewardFunction,
    known: Sequence[Item],
    forms: Mapping[str, attacks.Carrier],
    items: Sequence[Item],
    rewards: np.ndarray,
) -> bool:
    """Whether the function tells the samples apart and nothing else: it looks them up, or reads what is not in the text."""
    given = {item.completion for item in items}
    kinds = (attacks.ACCEPT["right answer"], attacks.REFUSE["wrong answer"])
    made = [c for form in forms.values() for kind in kinds for c in attacks.cases(known, form, kind)]
    try:
        scores = judge([c for c in made if c.completion not in given])
    except Failed:
        return False
    usual = rewards[np.isfinite(rewards)]
    return bool(scores.size and np.ptp(scores) == 0 and usual.size and np.ptp(usual) > 0)


def _right_and_wrong(judge: RewardFunction, items: Sequence[Item], form: attacks.Carrier) -> tuple[float, float] | None:
    """Mean scores of right and of wrong answers in a form; None where the function fails on it."""
    kinds = (attacks.ACCEPT["right answer"], attacks.REFUSE["wrong answer"])
    try:
        right, wrong = (judge(attacks.cases(items, form, make)) for make in kinds)
    except Failed:
        return None
    return _level(right), _level(wrong)


def _level(scores: np.ndarray) -> float:
    """The mean without the outermost twentieths, so that one outlier does not move what counts as a reward."""
    known = np.sort(np.nan_to_num(scores))
    cut = min(1 + len(known) // 20, (len(known) - 1) // 2)
    return float(known[cut : len(known) - cut].mean())


def right_from_wrong(suite: Suite | None) -> Answer:
    """Whether right answers score higher than wrong ones."""
    if suite is None:
        return NotApplicable("no right answers are given (--column answer=NAME)")
    if not suite.results and suite.failures:
        return critical(f"{_failed(suite, attacks.ACCEPT)}; call it on a right answer alone")
    if suite.mute:
        return NotMeasured("every completion beside the samples gets the same score, so the function cannot be tried")
    if suite.right <= suite.wrong:
        which = "less than" if suite.right < suite.wrong else "the same as"
        return critical(
            f"right answers score {which} wrong ones in the form with the highest reward, '{suite.carrier}' "
            f"({number(suite.right)} and {number(suite.wrong)}): the function rewards the form and not the answer, "
            "the sign is reversed, the answers belong to other prompts, or it expects a different form; read one "
            "right and one wrong answer, and give a rewarded sample"
        )
    return f"right answers score {number(suite.right)}, wrong ones {number(suite.wrong)}, in the form '{suite.carrier}'"


def false_positives(suite: Suite | None) -> Answer:
    """What gets a reward that deserves none."""
    if suite is None or not suite.results:
        return NotMeasured("needs right answers, and a form in which they are rewarded")
    wrongly, cases = suite.total(deserves=False)
    said = _rate("wrong completions are rewarded", wrongly, cases)
    if failed := _failed(suite, attacks.REFUSE):
        return critical(f"{failed}; {said}")
    if wrongly <= FALSE_POSITIVE * cases:
        return said
    mistakes = suite.mistakes(deserves=False)
    level = critical if any(w > n / 2 for w, n in mistakes.values()) else warning
    return level(
        f"{said}: {_worst(mistakes)}. A policy finds this within a few hundred steps; reject these in the verifier, and keep "
        "the suite as its test",
        false_positive=wrongly / cases,
        interval=intervals.wilson(wrongly, cases),
    )


def false_negatives(suite: Suite | None) -> Answer:
    """Which right answers get none."""
    if suite is None or not suite.results:
        return NotMeasured("needs right answers, and a form in which they are rewarded")
    wrongly, cases = suite.total(deserves=True)
    said = _rate("right answers are rejected", wrongly, cases)
    if failed := _failed(suite, attacks.ACCEPT):
        return critical(f"{failed}; {said}")
    if wrongly <= FALSE_NEGATIVE * cases:
        return said
    hits, right = suite.paid
    paid = right >= MIN_RIGHT and hits >= (1 - FALSE_NEGATIVE) * right  # the samples show how this policy writes
    level, seen = (notice, f" The {right} right answers of the samples are paid.") if paid else (warning, "")
    return level(
        f"{said}: {_worst(suite.mistakes(deserves=True))}. Right answers are punished for their notation; normalise both sides "
        f"before comparing.{seen}",
        false_negative=wrongly / cases,
        interval=intervals.wilson(wrongly, cases),
    )


def _rate(what: str, wrongly: int, cases: int) -> str:
    low, high = intervals.wilson(wrongly, cases)
    if not cases:
        return f"no {what}, because none could be scored"
    return f"{wrongly} of {cases} {what} ({percent(wrongly / cases)}, 95 % interval {percent(low)} to {percent(high)})"


def _worst(mistakes: Mapping[str, tuple[int, int]]) -> str:
    """The three kinds that are judged wrongly most often."""
    ranked = sorted((item for item in mistakes.items() if item[1][0]), key=lambda item: -item[1][0] / item[1][1])[:3]
    return ", ".join(f"'{kind}' {percent(wrongly / cases)}" for kind, (wrongly, cases) in ranked)


def _failed(suite: Suite, kinds: Mapping[str, Any]) -> str:
    """The first completion of these kinds that the function fails on, if there is one."""
    for kind, said in suite.failures.items():
        if kind in kinds:
            return f"the function fails on '{kind}': {said}, which stops a run as soon as the policy writes that"
    return ""


def lines(suite: Suite | None) -> tuple[tuple[str, str], ...]:
    """How much was tried, and what counts as a reward."""
    if suite is None or not suite.results:
        return ()
    cases = sum(cases for _, cases, _ in suite.results.values())
    said = f"{cases} completions in the form '{suite.carrier}'; a score of {number(suite.bar)} or more is a reward"
    return (("Suite", said),)


def tables(suite: Suite | None) -> tuple[ReportTable, ...]:
    """Every kind of completion, and how often it was rewarded."""
    if suite is None or not suite.results:
        return ()
    rows = []
    for kind, (deserves, cases, rewarded) in suite.results.items():
        wrongly = cases - rewarded if deserves else rewarded
        low, high = intervals.wilson(wrongly, cases)
        due, hits = "reward" if deserves else "nothing", f"{rewarded} of {cases}"
        rows.append((kind, due, hits, percent(wrongly / cases), f"{percent(low)} to {percent(high)}"))
    columns = ("completion", "deserves", "rewarded", "wrongly", "95 % interval")
    title = "Wrong completions that are rewarded, and right ones rejected"
    return (ReportTable(title=title, columns=columns, rows=tuple(rows)),)


def numbers(suite: Suite | None) -> dict[str, Any]:
    """Both rates with their intervals, and every kind, for programs."""
    if suite is None or not suite.results:
        return {}
    found: dict[str, Any] = {"suite": {k: {"cases": n, "rewarded": hits} for k, (_, n, hits) in suite.results.items()}}
    for name, deserves in (("false_positive", False), ("false_negative", True)):
        wrongly, cases = suite.total(deserves)
        found |= {name: wrongly / max(1, cases), f"{name}_interval": intervals.wilson(wrongly, cases)}
    return found
