"""What is wrong with how the splits were used, read off the ledger: one function for each rule."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from firstbreak.evals.protocol import compare
from firstbreak.evals.reuse import improvements, ladder_bound, luck
from firstbreak.evals.splits import KINDS, History, Look, Split
from firstbreak.model import Confidence, Finding, Severity
from firstbreak.words import number

TESTS = ("public_test", "private_test")


def findings(history: History) -> list[Finding]:
    """What a reader of the ledger should be warned of, worst first, then in the order of its rows."""
    found = [f for name in history.splits for rule in RULES for f in rule(history, name)]
    return sorted(found, key=lambda f: (-f.severity.rank, f.facts["rows"]))


def out_of_purpose(history: History, name: str) -> Iterator[Finding]:
    """A split that was looked at for what it is not for."""
    split = history.split(name)
    wrong = [look for look in history.looks_at(name) if look.use not in split.uses]
    for use in dict.fromkeys(look.use for look in wrong):
        looks = [look for look in wrong if look.use is use]
        steered = use.steers and split.kind in TESTS
        yield _finding(
            "out_of_purpose",
            looks,
            f"{name} is a {_kind(split)} split, to {KINDS[split.kind].purpose}, and was used {_times(len(looks))} to "
            f"{use.meaning}{_fed(looks)}; "
            + ("its score no longer says how good the model is on new problems: " if steered else "")
            + (
                "use a dev split for that, and measure once on a fresh split"
                if steered
                else f"use {_better(use)} for that"
            ),
            Severity.CRITICAL if steered else Severity.WARNING,
        )


def looked_too_often(history: History, name: str) -> Iterator[Finding]:
    """More looks than were allowed when the split was declared."""
    split, looks = history.split(name), history.looks_at(name)
    if split.looks is None or len(looks) <= split.looks:
        return
    private = split.kind == "private_test"
    yield _finding(
        "looked_too_often",
        looks[split.looks :],
        f"{name} was opened {_times(len(looks))}, {_times(split.looks)} is allowed; "
        + (
            "its later scores can no longer decide on a release: "
            if private
            else "the later looks are not independent: "
        )
        + "collect fresh problems for the next decision",
        Severity.CRITICAL if private else Severity.WARNING,
    )


def rules_changed(history: History, name: str) -> Iterator[Finding]:
    """A split that was allowed more after it had been looked at."""
    first, looks = history.splits[name][0], history.looks_at(name)
    for split in history.splits[name][1:]:
        before = [look for look in looks if look.number < split.number]
        looser = split.kind != first.kind or _limit(split) > _limit(first)
        if before and looser:
            yield _finding(
                "rules_changed",
                before,
                f"{name} was declared again after {_times(len(before), 'look')}: from {_allowed(first)} to "
                f"{_allowed(split)}; report its scores under the first rule",
                Severity.WARNING,
            )


def unlike_protocols(history: History, name: str) -> Iterator[Finding]:
    """Scores of one split that were measured in different ways."""
    looks = [look for look in history.looks_at(name) if look.protocol in history.protocols]
    by_protocol = {str(look.protocol): look for look in looks}  # the last look of each
    hashes = list(by_protocol)
    if len(hashes) > 1:
        first, last = history.protocols[hashes[0]], history.protocols[hashes[-1]]
        found = compare(first, last)
        fields = ", ".join(d.field for d in (*found.differs, *found.unknown))
        yield _finding(
            "unlike_protocols",
            list(by_protocol.values()),
            f"{name} was scored under {len(hashes)} protocols, which differ in {fields}; "
            "compare only scores of one protocol, or score the old checkpoints again",
            Severity.WARNING,
        )


def no_protocol(history: History, name: str) -> Iterator[Finding]:
    """Scores of which nobody can say how they were measured."""
    looks = [look for look in history.looks_at(name) if look.protocol is None]
    if looks:
        yield _finding(
            "no_protocol",
            looks,
            f"{_times(len(looks), 'score')} of {name} {'has' if len(looks) == 1 else 'have'} no protocol; "
            "`firstbreak eval lock` makes one, `--protocol` gives it",
            Severity.NOTICE,
        )


RULES: tuple[Callable[[History, str], Iterator[Finding]], ...] = (
    out_of_purpose,
    looked_too_often,
    rules_changed,
    unlike_protocols,
    no_protocol,
)


@dataclass(frozen=True, kw_only=True)
class Explained:
    """How much of the best score of a split re-use can explain, in units of the score."""

    metric: str
    best: float
    steering: int  #: looks whose score went into a decision about what is trained
    improvements: int
    luck: float | None  #: to be expected if all candidates were equally good; None where no error is known
    bound: float | None  #: at most, with 95 % confidence; None where the size of the split is not known


def explained(history: History, name: str) -> Explained | None:
    """What choosing by this split can have added to its best score, or None where no choice was made by it."""
    split = history.split(name)
    steering = [look for look in history.looks_at(name) if look.use.steers and look.scores]
    if not steering:
        return None
    metric = next(iter(steering[0].scores))
    scored = [look for look in steering if metric in look.scores]
    scores = [look.scores[metric] for look in scored]
    gains = improvements(scores)
    error = _error(split, scored, metric)
    width = split.high - split.low
    return Explained(
        metric=metric,
        best=max(scores),
        steering=len(scored),
        improvements=gains,
        luck=None if error is None else luck(len(scored), error),
        bound=None if split.size is None else width * ladder_bound(split.size, len(scored), gains),
    )


def _error(split: Split, looks: Sequence[Look], metric: str) -> float | None:
    """The standard error of one score: as reported, else of right-or-wrong answers, for as many as the split holds."""
    reported = [look.errors[metric] for look in looks if metric in look.errors]
    if reported:
        return sum(reported) / len(reported)
    if split.size is None:
        return None
    width = split.high - split.low
    share = sum(look.scores[metric] - split.low for look in looks) / len(looks) / width
    return float(width * (max(0.0, share * (1 - share)) / split.size) ** 0.5)


def in_words(explained: Explained) -> str:
    """One sentence for a person."""
    what = f"{_times(explained.steering, 'choice')} by {explained.metric}"
    parts = []
    if explained.luck is not None:
        parts.append(f"luck alone lifts the best of them by about {number(explained.luck)}")
    if explained.bound is not None:
        parts.append(f"adaptive re-use by at most {number(explained.bound)} (95 %)")
    return (
        f"{what}, best {number(explained.best)}: {', '.join(parts) or 'declare the size of the split to bound re-use'}"
    )


def _finding(rule: str, looks: Sequence[Look], message: str, severity: Severity) -> Finding:
    return Finding(
        message=message,
        severity=severity,
        confidence=Confidence.HIGH,
        facts={"rule": rule, "split": looks[0].split, "rows": [look.number for look in looks]},
    )


def _limit(split: Split) -> float:
    return math.inf if split.looks is None else split.looks


def _kind(split: Split) -> str:
    return split.kind.replace("_", " ")


def _times(n: int, what: str | None = None) -> str:
    if what is not None:
        return f"{n} {what}{'' if n == 1 else 's'}"
    return {1: "once", 2: "twice"}.get(n, f"{n} times")


def _fed(looks: Sequence[Look]) -> str:
    said = [look.fed for look in looks if look.fed]
    return f" ({said[-1]})" if said else ""


def _better(use: object) -> str:
    fit = [kind.replace("_", " ") for kind, what in KINDS.items() if use in what.uses]
    return f"a {fit[0]} split"


def _allowed(split: Split) -> str:
    return f"{_kind(split)}, {'any number of looks' if split.looks is None else _times(split.looks, 'look')}"
