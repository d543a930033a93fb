"""Checks before the run: of its environment, reward, critic, data, evaluation and memory, each with an answer and a remedy.

A check is a module (or package) `preflight/<name>.py` with one public function

    def check(target, *, option=default, ...) -> Report

Its keyword names are the options of `firstbreak check <name>` and the keys of that check's section in `firstbreak.toml`.
A check consists of probes. A probe answers like a detector (a `Finding`, `Expected`, `NotApplicable`, `NotMeasured`), or with
a sentence that says what was measured and is right; `ask` turns the answer into an `Outcome`. A fault of what is checked is a
Finding: if the user's code raises, hangs or returns nonsense, that is an answer too. Only a wrong call (a target that does not
exist, a file that cannot be read) raises `firstbreak.readers.Unreadable`.

A message gives the number, what it means and the first thing to try. A report may also draw a
`ReportTable`, `Bars` or `Stacks`; reports know nothing of the checks. The command of a check is in
`cli/check.py`, which only translates options.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from firstbreak.engine.checks import Answer as Answer
from firstbreak.engine.checks import Check, run_check
from firstbreak.model import EMPTY, Action, Finding, Link, Outcome, Severity
from firstbreak.values import dataclass, field
from firstbreak.words import number


@dataclass(frozen=True, kw_only=True)
class ReportTable:
    """Rows under a heading. Cells are text (see words.py); the first column names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Bars:
    """Amounts in rows: a histogram of one or two groups, or the parts of a sum."""

    title: str
    columns: tuple[str, ...]  #: what each amount of a row is: the groups of a histogram, "GB"
    rows: tuple[tuple[str, tuple[float, ...]], ...]  #: label, one amount for each column, none negative


@dataclass(frozen=True, kw_only=True)
class Stacks:
    """Parts of sums beside what they must fit into: one stacked bar for each row, against a line."""

    title: str
    unit: str
    capacity: float  #: in `unit`
    columns: tuple[str, ...]  #: the parts, in the order in which they are stacked
    rows: tuple[tuple[str, tuple[float, ...]], ...]  #: label, one amount in `unit` for each part, none negative

    def room(self, amounts: Sequence[float]) -> str:
        """`71.2 GiB, 8.8 free`."""
        left = self.capacity - sum(amounts)
        said = f"{left:.1f} free" if left >= 0 else f"{-left:.1f} too much"
        return f"{sum(amounts):.1f} {self.unit}, {said}"

    @property
    def line(self) -> str:
        """`capacity, 80 GiB`."""
        return f"capacity, {self.capacity:g} {self.unit}"

    @property
    def top(self) -> float:
        """Where the scale of all bars ends, in `unit`."""
        return max(self.capacity, *(sum(amounts) for _, amounts in self.rows)) or 1.0


Exhibit = ReportTable | Bars | Stacks


@dataclass(frozen=True, kw_only=True, eq=False)
class Report:
    """The result of one check."""

    check: str  #: "env", "reward", ...
    target: str  #: what was checked, in the user's words
    outcomes: tuple[Outcome, ...]
    summary: str = ""  #: one sentence that answers the question; made from the findings where it is empty
    checked: tuple[tuple[str, str], ...] = ()  #: label and text: what was looked at, how much of it
    exhibits: tuple[Exhibit, ...] = ()
    #: for programs: everything measured, under stable names
    numbers: Mapping[str, Any] = field(default_factory=lambda: EMPTY)

    @property
    def action(self) -> Action:
        """STOP: do not train yet; WATCH: look at the warnings first; CONTINUE: nothing was found."""
        worst = max((outcome.finding.severity.rank for outcome in self.findings if outcome.finding), default=0)
        return (Action.CONTINUE, Action.WATCH, Action.STOP)[worst]

    @property
    def findings(self) -> tuple[Outcome, ...]:
        """The outcomes that found something, worst first."""
        found = [(outcome.finding.severity.rank, outcome) for outcome in self.outcomes if outcome.finding]
        return tuple(outcome for _, outcome in sorted(found, key=lambda pair: -pair[0]))


def ask(probe_id: str, link: Link, probe: Callable[[], Answer]) -> Outcome:
    """The answer of a probe, as an Outcome. A probe that raises costs one line of the report (CRASHED), never the report."""
    return run_check(Check(id=probe_id, link=link, ask=probe))


def asking(link: Link, fails: type[Exception] | tuple[()] = (), said: str = "{}") -> Callable[..., Outcome]:
    """`ask` for the probes of one check, with its link as the default.

    `fails`: what a probe raises where the user's code fails in the middle of it. That is a finding, in the words `said`, and
    not a crash of the probe.
    """

    def asked(probe_id: str, probe: Callable[[], Answer], link: Link = link) -> Outcome:
        def answered() -> Answer:
            try:
                return probe()
            except fails as error:
                return critical(said.format(error))

        return ask(probe_id, link, answered)

    return asked


def critical(message: str, **numbers: Any) -> Finding:
    """A finding because of which a practitioner would not start the run."""
    return Finding(message=message, severity=Severity.CRITICAL, numbers=numbers)


def warning(message: str, **numbers: Any) -> Finding:
    """A finding that a practitioner would look into before the run."""
    return Finding(message=message, severity=Severity.WARNING, numbers=numbers)


def notice(message: str, **numbers: Any) -> Finding:
    """A finding that is worth knowing, and may be intended."""
    return Finding(message=message, severity=Severity.NOTICE, numbers=numbers)


def histogram(title: str, groups: Mapping[str, Sequence[float] | np.ndarray], bins: int = 10) -> Bars:
    """Counts of every group over common bins; a few discrete values get one row each."""
    finite = {name: np.asarray(v, float)[np.isfinite(np.asarray(v, float))] for name, v in groups.items()}
    everything = np.concatenate(list(finite.values()))
    if not everything.size:
        return Bars(title=title, columns=tuple(finite), rows=())
    distinct = np.unique(everything)
    if len(distinct) <= bins:
        rows = [(number(d), tuple(float(np.sum(v == d)) for v in finite.values())) for d in distinct]
    else:
        edges = np.linspace(distinct[0], distinct[-1], bins + 1)
        counts = np.stack([np.histogram(v, edges)[0] for v in finite.values()], axis=1)
        labels = [f"{number(a)} to {number(b)}" for a, b in pairwise(edges)]
        rows = [(label, tuple(map(float, row))) for label, row in zip(labels, counts, strict=True)]
    return Bars(title=title, columns=tuple(finite), rows=tuple(rows))
