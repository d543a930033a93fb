"""The splits of an evaluation, what each is for, and the looks that were taken at them, as the ledger tells it."""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from firstbreak.evals.ledger import Entry, Ledger
from firstbreak.evals.protocol import Protocol


class Use(enum.StrEnum):
    """What an evaluation is for: which decision its score goes into."""

    DEBUG = "debug"
    BASELINE = "baseline"
    TUNE = "tune"
    SELECT = "select"
    OBSERVE = "observe"
    REPORT = "report"
    RELEASE = "release"
    CALIBRATE = "calibrate"

    @property
    def meaning(self) -> str:
        """In words."""
        return _USES[self]

    @property
    def steers(self) -> bool:
        """Whether the score flows back into what is trained: such a look fits the split a little."""
        return self in (Use.TUNE, Use.SELECT)


_USES = {
    Use.DEBUG: "find out whether the code works",
    Use.BASELINE: "the score before training",
    Use.TUNE: "choose hyperparameters, prompts or rewards",
    Use.SELECT: "choose a checkpoint",
    Use.OBSERVE: "watch the trend",
    Use.REPORT: "publish a number",
    Use.RELEASE: "decide on a release",
    Use.CALIBRATE: "calibrate a reward or a judge",
}


@dataclass(frozen=True)
class Kind:
    """A kind of split: what it is for, and how often it may be looked at (None: as often as one likes)."""

    purpose: str
    uses: frozenset[Use]
    looks: int | None


KINDS: Mapping[str, Kind] = {
    "smoke": Kind("catch errors of the implementation", frozenset({Use.DEBUG, Use.BASELINE, Use.OBSERVE}), None),
    "dev": Kind(
        "tune parameters and rewards, choose checkpoints",
        frozenset({Use.DEBUG, Use.BASELINE, Use.TUNE, Use.SELECT, Use.OBSERVE, Use.REPORT}),
        None,
    ),
    "public_test": Kind("observe the trend", frozenset({Use.BASELINE, Use.OBSERVE, Use.REPORT}), 10),
    "private_test": Kind("decide on a release", frozenset({Use.RELEASE}), 1),
    "human_audit": Kind("calibrate rewards and judges", frozenset({Use.CALIBRATE, Use.OBSERVE}), None),
}


@dataclass(frozen=True, kw_only=True)
class Split:
    """A split as it was declared."""

    name: str
    kind: str
    looks: int | None  #: how many are allowed; None: as many as one likes
    size: int | None = None  #: problems or episodes
    low: float = 0.0  #: smallest and largest score of one problem
    high: float = 1.0
    number: int = 0  #: row of the ledger

    @property
    def uses(self) -> frozenset[Use]:
        """What it may be looked at for."""
        return KINDS[self.kind].uses


@dataclass(frozen=True, kw_only=True)
class Look:
    """One evaluation: who looked at which split, with which protocol, at what, and why."""

    number: int  #: row of the ledger
    at: str
    who: str
    split: str
    use: Use
    scores: Mapping[str, float]
    protocol: str | None = None  #: hash
    run: str | None = None
    checkpoint: str | None = None
    step: float | None = None
    fed: str | None = None  #: the decision that it went into, in words
    errors: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class History:
    """What a ledger holds, sorted by what it is."""

    splits: Mapping[str, tuple[Split, ...]]  #: each declaration of a name; the last one holds
    looks: tuple[Look, ...]
    protocols: Mapping[str, Protocol]  #: by hash

    def split(self, name: str) -> Split:
        """The split as it is declared now."""
        return self.splits[name][-1]

    def looks_at(self, name: str) -> tuple[Look, ...]:
        """In the order in which they were taken."""
        return tuple(look for look in self.looks if look.split == name)


def history(entries: Iterable[Entry]) -> History:
    """Sort the rows of a ledger; kinds that are not known (of a later version) are passed over."""
    splits: dict[str, tuple[Split, ...]] = {}
    looks: list[Look] = []
    protocols: dict[str, Protocol] = {}
    for entry in entries:
        data = entry.data
        match data["kind"]:
            case "split":
                split = Split(
                    number=entry.number, **_fields(data, "name", "split_kind", "looks", "size", "low", "high")
                )
                splits[split.name] = (*splits.get(split.name, ()), split)
            case "protocol":
                protocols[data["hash"]] = Protocol(data["fields"])
            case "evaluation":
                named = ("at", "who", "split", "scores", "protocol", "run", "checkpoint", "step", "fed", "errors")
                looks.append(Look(number=entry.number, use=Use(data["use"]), **_fields(data, *named)))
    return History(splits, tuple(looks), protocols)


def _fields(data: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {("kind" if name == "split_kind" else name): data[name] for name in names if name in data}


def declare(ledger: Ledger, split: Split) -> Entry:
    """Write a split into the ledger. Declaring it again changes it from then on, and the change stays visible."""
    body = {"name": split.name, "split_kind": split.kind, "looks": split.looks, "low": split.low, "high": split.high}
    return ledger.append("split", body | ({} if split.size is None else {"size": split.size}))


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
) -> Entry:
    """Write an evaluation, and its protocol once, in one transaction. `what`: run, checkpoint, step, fed.

    Raises LookupError for a split that was never declared: nobody could say what it may be used for.
    """
    declared = history(ledger).splits
    if split not in declared:
        known = f"declared are {', '.join(declared)}" if declared else "none is declared yet"
        raise LookupError(
            f"no split is called {split!r} ({known}); `firstbreak eval split {split} --kind dev` declares it"
        )
    body: dict[str, Any] = {"split": split, "use": use.value, "scores": dict(scores)}
    body |= {name: value for name, value in what.items() if value is not None}
    body |= {"errors": dict(errors)} if errors else {}
    records: list[tuple[str, Mapping[str, Any], str | None]] = []
    if protocol is not None:
        body["protocol"] = protocol.hash
        records.append(
            ("protocol", {"hash": protocol.hash, "fields": dict(protocol.values)}, f"protocol-{protocol.hash}")
        )
    return ledger.extend([*records, ("evaluation", body, key)])[-1]
