"""The splits, the purpose of each, and every evaluation of them, as recorded in the ledger."""

import enum
from collections.abc import Iterable, Mapping
from typing import Any

from firstbreak.evals import metrics
from firstbreak.evals.ledger import Ledger, LedgerEntry
from firstbreak.evals.protocol import Protocol
from firstbreak.model import Interval
from firstbreak.values import dataclass, field
from firstbreak.words import number


class Use(enum.StrEnum):
    """The purpose of an evaluation: the decision that uses its score."""

    meaning: str  #: in words

    def __new__(cls, value: str, meaning: str = "") -> "Use":
        member = str.__new__(cls, value)
        member._value_, member.meaning = value, meaning
        return member

    DEBUG = "debug", "find out whether the code works"
    BASELINE = "baseline", "the score before training"
    TUNE = "tune", "choose hyperparameters, prompts or rewards"
    SELECT = "select", "choose a checkpoint"
    OBSERVE = "observe", "watch the trend"
    REPORT = "report", "publish a number"
    RELEASE = "release", "decide on a release"
    CALIBRATE = "calibrate", "calibrate a reward or a judge"

    @property
    def steers(self) -> bool:
        """Whether the score changes what is trained. Each evaluation of this kind overfits the split a little."""
        return self in (Use.TUNE, Use.SELECT)


@dataclass(frozen=True)
class SplitKind:
    """A kind of split: its purpose, and how many evaluations it allows (None: any number)."""

    purpose: str
    uses: frozenset[Use]
    allowed: int | None


KINDS: Mapping[str, SplitKind] = {
    "smoke": SplitKind("catch errors of the implementation", frozenset({Use.DEBUG, Use.BASELINE, Use.OBSERVE}), None),
    "dev": SplitKind(
        "tune parameters and rewards, choose checkpoints",
        frozenset({Use.DEBUG, Use.BASELINE, Use.TUNE, Use.SELECT, Use.OBSERVE, Use.REPORT}),
        None,
    ),
    "public_test": SplitKind("observe the trend", frozenset({Use.BASELINE, Use.OBSERVE, Use.REPORT}), 10),
    "private_test": SplitKind("decide on a release", frozenset({Use.RELEASE}), 1),
    "human_audit": SplitKind("calibrate rewards and judges", frozenset({Use.CALIBRATE, Use.OBSERVE}), None),
}


@dataclass(frozen=True, kw_only=True)
class Split:
    """A declared split."""

    name: str
    kind: str
    allowed: int | None  #: number of evaluations; None: any number
    size: int | None = None  #: number of problems or episodes
    low: float | None = None  #: smallest and largest score of one problem, where they were declared
    high: float | None = None
    number: int = 0  #: its row in the ledger

    @property
    def range(self) -> Interval | None:
        """The declared range of one problem's score."""
        return None if self.low is None or self.high is None else (self.low, self.high)

    @property
    def uses(self) -> frozenset[Use]:
        """The purposes that this kind of split allows."""
        return KINDS[self.kind].uses


@dataclass(frozen=True, kw_only=True)
class EvaluationRecord:
    """One evaluation of a split: who made it, when, for which purpose, with which protocol and which scores."""

    number: int  #: its row in the ledger
    at: str
    who: str
    split: str
    use: Use
    scores: Mapping[str, float]
    protocol: str | None = None  #: hash
    run: str | None = None
    checkpoint: str | None = None
    step: float | None = None
    fed: str | None = None  #: the decision that used the score, in words
    errors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class EvaluationHistory:
    """The rows of a ledger, sorted into splits, evaluations and protocols."""

    splits: Mapping[str, tuple[Split, ...]]  #: all declarations of each name; the last one is valid
    evaluations: tuple[EvaluationRecord, ...]
    protocols: Mapping[str, Protocol]  #: by hash

    def split(self, name: str) -> Split:
        """The latest declaration of a split."""
        return self.splits[name][-1]

    def evaluations_of(self, name: str) -> tuple[EvaluationRecord, ...]:
        """The evaluations of one split, the earliest first."""
        return tuple(record for record in self.evaluations if record.split == name)


def history(entries: Iterable[LedgerEntry]) -> EvaluationHistory:
    """Sort the rows of a ledger. Unknown kinds of rows (from a later version) are skipped."""
    splits: dict[str, tuple[Split, ...]] = {}
    evaluations: list[EvaluationRecord] = []
    protocols: dict[str, Protocol] = {}
    for entry in entries:
        data = entry.data
        match data["kind"]:
            case "split":
                new = Split(number=entry.number, **_fields(data, "name", "split_kind", "looks", "size", "low", "high"))
                splits[new.name] = (*splits.get(new.name, ()), new)
            case "protocol":
                protocols[data["hash"]] = Protocol(data["fields"])
            case "evaluation":
                named = ("at", "who", "split", "scores", "protocol", "run", "checkpoint", "step", "fed", "errors")
                fields = _fields(data, *named)
                fields |= {name: metrics.named(fields[name]) for name in ("scores", "errors") if name in fields}
                evaluations.append(EvaluationRecord(number=entry.number, use=Use(data["use"]), **fields))
    return EvaluationHistory(splits, tuple(evaluations), protocols)


_FIELD = {"split_kind": "kind", "looks": "allowed"}  #: key in the ledger -> field of Split, where they differ


def _fields(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {_FIELD.get(name, name): data[name] for name in names if name in data}


def declare(ledger: Ledger, split: Split) -> LedgerEntry:
    """Write a split into the ledger. A second declaration is valid from then on, and both stay in the ledger."""
    if split.range is not None and not split.range[0] < split.range[1]:
        raise ValueError(f"the range {number(split.low)} to {number(split.high)} holds no score; give the lowest first")
    body = {"name": split.name, "split_kind": split.kind, "looks": split.allowed}
    known = {"size": split.size, "low": split.low, "high": split.high}
    return ledger.append("split", body | {name: value for name, value in known.items() if value is not None})


def record(
    ledger: Ledger,
    *,
    split: str,
    use: Use,
    scores: Mapping[str, float],
    protocol: Protocol | None = None,
    key: str | None = None,
    errors: Mapping[str, float] | None = None,
    **what: str | float | None,
) -> LedgerEntry:
    """Write an evaluation in one transaction; a protocol is written once. `what`: run, checkpoint, step, fed.

    A score has one name, whatever wrote it (`metrics.one_name`). Raises LookupError for a split that was not declared, because
    its purpose is unknown, and ValueError for a score outside of the declared range.
    """
    declared = history(ledger).splits
    if split not in declared:
        known = f"declared splits: {', '.join(declared)}" if declared else "no split is declared yet"
        raise LookupError(
            f"no split is called {split!r} ({known}); `firstbreak eval split {split} --kind dev` declares it"
        )
    scores = metrics.named(scores)
    _check_range(declared[split][-1], scores)
    body: dict[str, Any] = {"split": split, "use": use.value, "scores": scores}
    body |= {name: value for name, value in what.items() if value is not None}
    body |= {"errors": metrics.named(errors)} if errors else {}
    rows: list[tuple[str, Mapping[str, Any], str | None]] = []
    if protocol is not None:
        body["protocol"] = protocol.hash
        rows.append(("protocol", {"hash": protocol.hash, "fields": dict(protocol.values)}, f"protocol-{protocol.hash}"))
    return ledger.extend([*rows, ("evaluation", body, key)])[-1]


def _check_range(split: Split, scores: Mapping[str, float]) -> None:
    """Raises ValueError where a score lies outside of the range that was declared."""
    if split.range is None:
        return
    low, high = split.range
    for metric, value in scores.items():
        if metrics.is_score(metric) and not low <= value <= high:
            raise ValueError(
                f"{metric} {number(value)} lies outside of the range of {split.name}, {number(low)} to {number(high)}; "
                f"correct it, or declare it again: `firstbreak eval split {split.name} --kind {split.kind} --range LOW HIGH`"
            )
