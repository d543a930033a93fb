"""Warnings about how the splits were used, from the rows of the ledger. One function for each rule."""

import math
from collections.abc import Callable, Iterator, Sequence

from firstbreak.evals import metrics
from firstbreak.evals.protocol import compare
from firstbreak.evals.reuse import improvements, ladder_bound, luck
from firstbreak.evals.splits import KINDS, EvaluationHistory, EvaluationRecord, Split
from firstbreak.model import Confidence, Finding, Interval, Severity
from firstbreak.values import dataclass
from firstbreak.words import number

TESTS = ("public_test", "private_test")


def findings(history: EvaluationHistory) -> list[Finding]:
    """All warnings, the most severe first, then in the order of the rows."""
    found = [f for name in history.splits for rule in RULES for f in rule(history, name)]
    return sorted(found, key=lambda f: (-f.severity.rank, f.numbers["rows"]))


def out_of_purpose(history: EvaluationHistory, name: str) -> Iterator[Finding]:
    """A split was evaluated for a purpose that its kind does not allow."""
    split = history.split(name)
    wrong = [record for record in history.evaluations_of(name) if record.use not in split.uses]
    for use in dict.fromkeys(record.use for record in wrong):
        records = [record for record in wrong if record.use is use]
        fed = [f" ({record.fed})" for record in records if record.fed]
        fit = [kind.replace("_", " ") for kind, what in KINDS.items() if use in what.uses]
        steered = use.steers and split.kind in TESTS
        yield _finding(
            "out_of_purpose",
            records,
            f"{name} is a {_kind(split)} split. Its purpose is to {KINDS[split.kind].purpose}, and it was used "
            f"{_times(len(records))} to {use.meaning}{''.join(fed[-1:])}. "
            + ("Its score no longer says how good the model is on new problems. " if steered else "")
            + (
                "Use a dev split for this purpose, and measure once on a fresh split"
                if steered
                else f"Use a {fit[0]} split for this purpose"
            ),
            Severity.CRITICAL if steered else Severity.WARNING,
        )


def evaluated_too_often(history: EvaluationHistory, name: str) -> Iterator[Finding]:
    """More evaluations than the declaration of the split allows."""
    split, records = history.split(name), history.evaluations_of(name)
    if split.allowed is None or len(records) <= split.allowed:
        return
    private = split.kind == "private_test"
    yield _finding(
        "evaluated_too_often",
        records[split.allowed :],
        f"{name} was evaluated {_times(len(records))}, and {_times(split.allowed)} is allowed. "
        + (
            "Its later scores can no longer decide on a release. "
            if private
            else "The later scores are not independent of the earlier ones. "
        )
        + "Collect fresh problems for the next decision",
        Severity.CRITICAL if private else Severity.WARNING,
    )


def rules_changed(history: EvaluationHistory, name: str) -> Iterator[Finding]:
    """A split was evaluated, and a later declaration allows more evaluations or another purpose."""
    first, records = history.splits[name][0], history.evaluations_of(name)
    for split in history.splits[name][1:]:
        before = [record for record in records if record.number < split.number]
        now, then = (math.inf if declared.allowed is None else declared.allowed for declared in (split, first))
        looser = split.kind != first.kind or now > then
        if before and looser:
            yield _finding(
                "rules_changed",
                before,
                f"{name} was declared again after {_times(len(before), 'evaluation')}: from {_allowed(first)} to "
                f"{_allowed(split)}. Report its scores under the first declaration",
                Severity.WARNING,
            )


def unlike_protocols(history: EvaluationHistory, name: str) -> Iterator[Finding]:
    """The scores of one split were measured under different protocols."""
    records = [record for record in history.evaluations_of(name) if record.protocol in history.protocols]
    by_protocol = {str(record.protocol): record for record in records}  # the last evaluation of each
    hashes = list(by_protocol)
    if len(hashes) > 1:
        first, last = history.protocols[hashes[0]], history.protocols[hashes[-1]]
        found = compare(first, last)
        fields = ", ".join(d.field for d in (*found.differs, *found.unknown))
        yield _finding(
            "unlike_protocols",
            list(by_protocol.values()),
            f"{name} was scored under {len(hashes)} protocols, which differ in {fields}. "
            "Compare only scores of one protocol, or score the old checkpoints again",
            Severity.WARNING,
        )


def no_protocol(history: EvaluationHistory, name: str) -> Iterator[Finding]:
    """Scores without a protocol: nobody knows how they were measured."""
    records = [record for record in history.evaluations_of(name) if record.protocol is None]
    if records:
        yield _finding(
            "no_protocol",
            records,
            f"{_times(len(records), 'score')} of {name} {'has' if len(records) == 1 else 'have'} no protocol. "
            "Make one with `firstbreak eval lock`, and give it with `--protocol`",
            Severity.NOTICE,
        )


RULES: tuple[Callable[[EvaluationHistory, str], Iterator[Finding]], ...] = (
    out_of_purpose,
    evaluated_too_often,
    rules_changed,
    unlike_protocols,
    no_protocol,
)


@dataclass(frozen=True, kw_only=True)
class Explained:
    """How much of the best score of a split its re-use can explain, in units of the score."""

    metric: str
    best: float
    steering: int  #: evaluations whose score was used in a decision about training
    improvements: int
    luck: float | None  #: expected gain if all candidates were equally good; None without a standard error
    #: largest gain, with 95 % confidence; None without the size of the split and the range of a score
    bound: float | None
    learned: bool = False  #: whether the range, 0 to 1, was learned from the scores
    lacks: tuple[str, ...] = ()  #: options of `eval split` that would give the numbers that are None


def explained(history: EvaluationHistory, name: str) -> Explained | None:
    """How much the choices by this split can have added to its best score. None where no choice was made."""
    split = history.split(name)
    steering = [record for record in history.evaluations_of(name) if record.use.steers and record.scores]
    if not steering:
        return None
    metric = metrics.main(steering[0].scores) or ""
    scored = [record for record in steering if metric in record.scores]
    scores = [record.scores[metric] for record in scored]
    gains = improvements(scores)
    bounds = split.range or metrics.range_of(scores)
    error = _error(split, bounds, scored, metric)
    bounded = bounds is not None and split.size is not None
    return Explained(
        metric=metric,
        best=max(scores),
        steering=len(scored),
        improvements=gains,
        luck=None if error is None else luck(len(scored), error),
        bound=(bounds[1] - bounds[0]) * ladder_bound(split.size, len(scored), gains)
        if bounds is not None and split.size is not None
        else None,
        learned=split.range is None and bounds is not None,
        lacks=()
        if bounded
        else tuple(flag for flag, there in (("--size N", split.size), ("--range LOW HIGH", bounds)) if there is None),
    )


def _error(split: Split, bounds: Interval | None, records: Sequence[EvaluationRecord], metric: str) -> float | None:
    """The standard error of one score: the reported one, else the largest that its mean and range allow (right or wrong)."""
    reported = [record.errors[metric] for record in records if metric in record.errors]
    if reported:
        return sum(reported) / len(reported)
    if split.size is None or bounds is None:
        return None
    width = bounds[1] - bounds[0]
    share = sum(record.scores[metric] - bounds[0] for record in records) / len(records) / width
    return float(width * (max(0.0, share * (1 - share)) / split.size) ** 0.5)


def in_words(explained: Explained) -> str:
    """One sentence for a report."""
    what = f"{_times(explained.steering, 'choice')} by {explained.metric}"
    parts = []
    if explained.luck is not None:
        parts.append(f"luck alone raises the best score by about {number(explained.luck)}")
    if explained.bound is not None:
        parts.append(f"adaptive re-use raises it by at most {number(explained.bound)} (95 %)")
    if explained.learned and parts:
        parts.append("for scores from 0 to 1, where all of them lie")
    if explained.lacks:
        more = "" if parts else "nothing is known of what luck adds; "
        parts.append(f"{more}`eval split` with {' and '.join(explained.lacks)} gives a bound")
    return f"{what}, best {number(explained.best)}: {', '.join(parts)}"


def _finding(rule: str, records: Sequence[EvaluationRecord], message: str, severity: Severity) -> Finding:
    numbers = {"rule": rule, "split": records[0].split, "rows": [record.number for record in records]}
    return Finding(message=message, severity=severity, confidence=Confidence.HIGH, numbers=numbers)


def _kind(split: Split) -> str:
    return split.kind.replace("_", " ")


def _times(n: int, what: str | None = None) -> str:
    if what is not None:
        return f"{n} {what}{'' if n == 1 else 's'}"
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _allowed(split: Split) -> str:
    return f"{_kind(split)}, {'any number of evaluations' if split.allowed is None else _times(split.allowed, 'evaluation')}"
