"""The grid, and what counts as right: a broken run is diagnosed as the guide says, its healthy look-alike is left alone.

statement x (trainers and methods that log what it needs) x lengths x evaluation cadences x noise seeds. Every run is
written in its trainer's own format, read and diagnosed as any other run.
"""

from __future__ import annotations

import importlib
import json
import multiprocessing
import pkgutil
import re
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

import numpy as np

from benchmarks.statements import guides, worlds
from benchmarks.statements.statement import STATEMENTS, Curves, Expected, Statement
from benchmarks.statements.trainers import SETTINGS, TRAINERS, write
from benchmarks.statements.worlds import World
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Diagnosis, Severity
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parents[2]
SEEDS = 10
LENGTHS = (60, 200, 800)  #: logged steps
EVALUATIONS = (10, 30)  #: in a run, at most
TOP_CAUSES = 3  #: whose titles and fixes a reader sees at once
CALM = frozenset({Action.CONTINUE, Action.WATCH})


@dataclass(frozen=True, order=True)
class Case:
    """One run of the grid."""

    statement: str
    trainer: str
    method: str
    n: int
    evaluations: int
    index: int
    broken: bool

    @property
    def id(self) -> str:
        """Its name, by which it is made again."""
        side = "broken" if self.broken else "healthy"
        return f"{self.statement}/{self.trainer}-{self.method}/{self.n}/{self.evaluations}/{self.index}/{side}"

    @property
    def seed(self) -> int:
        """Of the world: the same for the broken run and its look-alike."""
        return zlib.crc32(self.id.rpartition("/")[0].encode())


@dataclass(frozen=True)
class Result:
    """How a case went: what failed, and what was said instead."""

    case: Case
    failed: tuple[str, ...]  #: empty where all is as it should be
    said: str  #: the diagnosis in one line
    message: str  #: the sentence of the report that says what the statement says
    stopped: bool  #: it says to stop or to go back
    seconds: float

    @property
    def right(self) -> bool:
        """Whether all is as it should be."""
        return not self.failed


@cache
def statements() -> dict[str, Statement]:
    """Every statement of the modules in guides/, by id."""
    for module in pkgutil.iter_modules(guides.__path__, f"{guides.__name__}."):
        importlib.import_module(module.name)
    return dict(sorted(STATEMENTS.items()))


def fits(statement: Statement, trainer: str, method: str) -> bool:
    """Whether a run of this trainer and method can show what the statement speaks of."""
    spec = TRAINERS[trainer]
    of_kind = spec.family in statement.families and (not statement.methods or method in statement.methods)
    return of_kind and all(any(spec.logs(method, s) for s in need.split("|")) for need in statement.needs)


def grid(wanted: Iterable[Statement], trainer: str | None = None) -> list[Case]:
    """All cases of these statements."""
    return [
        Case(statement.id, name, method, n, evaluations, index, broken)
        for statement in wanted
        for name, method in SETTINGS
        if trainer in (None, name) and fits(statement, name, method)
        for n in LENGTHS
        for evaluations in EVALUATIONS
        for index in range(SEEDS)
        for broken in (True, False)
        if broken or statement.healthy is not None
    ]


def sample(cases: Sequence[Case], share: float) -> list[Case]:
    """This share of the cases: of each statement at least one broken and one healthy run, and all trainers evenly.

    It is always the same one, and a larger share contains a smaller one.
    """
    if share >= 1:
        return list(cases)
    by_side: dict[tuple[str, bool], list[Case]] = {}
    for case in cases:
        by_side.setdefault((case.statement, case.broken), []).append(case)
    chosen: list[Case] = []
    for (name, _), members in by_side.items():
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        by_setting: dict[tuple[str, str], list[Case]] = {}
        for case in rng.permutation(np.array(members, dtype=object)):
            by_setting.setdefault((case.trainer, case.method), []).append(case)
        turns = [case for turn in zip_longest(*by_setting.values()) for case in turn if case is not None]
        chosen += turns[: max(1, round(share * len(turns)))]
    return sorted(chosen)


def made(case: Case, statement: Statement) -> tuple[World, Curves]:
    """The world of a case and its curves."""
    world = worlds.make(case.trainer, case.method, case.n, max(2, case.n // case.evaluations), case.seed)
    generate = statement.broken if case.broken else statement.healthy
    assert generate is not None, f"{statement.id} has no look-alike"
    return world, worlds.completed(world, generate(world))


def diagnosed(case: Case, statement: Statement, folder: Path) -> Diagnosis:
    """Write the case's run into `folder`, read it and diagnose it."""
    world, curves = made(case, statement)
    write(folder, world, curves, config=case.index % 2 == 0)  # half of the runs come without their configuration
    return diagnose(read(folder))


def judge(statement: Statement, dx: Diagnosis, broken: bool) -> list[str]:
    """What is not as it should be."""
    if not broken:
        return not_silent(dx, statement.expected)
    quiet = statement.healthy is None and not statement.expected.links and statement.expected.actions <= CALM
    return unmet(dx, statement.expected) + (not_silent(dx, statement.expected) if quiet else [])


def unmet(dx: Diagnosis, expected: Expected) -> list[str]:
    """Parts of what is expected of a broken run that do not hold."""
    failed: list[str] = []
    seen = {o.link for o in dx.findings if o.finding and o.finding.severity is not Severity.NOTICE}
    if expected.links and not seen & expected.links:
        failed.append(f"links: no warning at {_names(expected.links)}")
    if expected.first and (dx.first_break is None or dx.first_break.link not in expected.first):
        named = dx.first_break.link.value if dx.first_break else "none"
        failed.append(f"first: {named} instead of {_names(expected.first)}")
    if dx.verdict.action not in expected.actions:
        failed.append(f"action: {dx.verdict.action.value} instead of {_names(expected.actions)}")
    text = words(dx)
    failed += [f"says: nothing like /{pattern}/" for pattern in expected.says if not re.search(pattern, text, re.I)]
    return failed


def not_silent(dx: Diagnosis, expected: Expected) -> list[str]:
    """What is said of a healthy run and should not be."""
    failed: list[str] = []
    if dx.first_break is not None:
        failed.append(f"first: {dx.first_break.link.value}")
    if dx.verdict.action not in CALM:
        failed.append(f"action: {dx.verdict.action.value}")
    for outcome in dx.findings:
        finding = outcome.finding
        assert finding is not None
        here = finding.severity is Severity.WARNING and outcome.link in expected.links
        if here or finding.severity is Severity.CRITICAL:
            failed.append(f"{finding.severity.value}: {outcome.detector}")
    return failed


def words(dx: Diagnosis) -> str:
    """Everything that a reader of the report is told, one piece a line."""
    verdict = dx.verdict
    pieces = [verdict.summary, verdict.upside, verdict.risk, verdict.do_first]
    pieces += [o.finding.message for o in dx.findings if o.finding]
    for cause in dx.causes[:TOP_CAUSES]:
        pieces += [cause.title, *cause.fix]
    pieces += [f"{f.metric} reaches {f.name}" for f in dx.forecasts]
    pieces += dx.expected
    return "\n".join(pieces)


def _names(values: Iterable[object]) -> str:
    return ", ".join(sorted(str(value) for value in values))


def summary(dx: Diagnosis) -> str:
    """The diagnosis in one line: action, first break, top cause, checks that found something serious."""
    first = f"first {dx.first_break.link.value}" if dx.first_break else "no first break"
    cause = f"{dx.causes[0].id} {dx.causes[0].probability:.2f}" if dx.causes else "no cause"
    serious = [
        f"{o.detector}{'!' if o.finding.severity is Severity.CRITICAL else ''}"
        for o in dx.findings
        if o.finding and o.finding.severity is not Severity.NOTICE
    ]
    return f"{dx.verdict.action.value}, {first}, {cause}; {' '.join(serious) or 'no warning'}"


def message(dx: Diagnosis, expected: Expected) -> str:
    """The sentence that says what is expected: the gravest finding at its links, else what its words are found in."""
    here = [o.finding for o in dx.findings if o.finding and o.link in expected.links]
    if here:
        return str(max(here, key=lambda finding: finding.severity.rank).message)
    found = (line for line in words(dx).splitlines() for pattern in expected.says if re.search(pattern, line, re.I))
    return next(found, dx.verdict.summary)


def run_case(case: Case) -> Result:
    """Make, write, read, diagnose and judge one case."""
    start = time.perf_counter()
    statement = statements()[case.statement]
    with tempfile.TemporaryDirectory() as scratch:
        dx = diagnosed(case, statement, Path(scratch) / "run")
    failed = judge(statement, dx, case.broken)
    stopped = dx.verdict.action not in CALM
    told = message(dx, statement.expected)
    return Result(case, tuple(failed), summary(dx), told, stopped, time.perf_counter() - start)


def run(cases: Sequence[Case], processes: int = 2, rows: Path | None = None) -> Iterator[Result]:
    """The results of all cases. Progress is printed to stderr.

    `rows`: a file that keeps each result, one line each. What it holds of this version of the code is not run again.
    """
    known = _known(rows)
    yield from (known[case.id] for case in cases if case.id in known)
    missing = [case for case in cases if case.id not in known]
    start = time.monotonic()
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for done, result in enumerate(pool.imap_unordered(run_case, missing, chunksize=8), 1):
            if rows is not None:
                with rows.open("a") as lines:
                    lines.write(json.dumps({"version": version(), **asdict(result)}) + "\n")
            if done % max(1, len(missing) // 20) == 0 or done == len(missing):
                spent = time.monotonic() - start
                left = spent / done * (len(missing) - done)
                print(f"{done}/{len(missing)} runs, {spent:.0f} s, {left:.0f} s left", file=sys.stderr, flush=True)
            yield result


def _known(rows: Path | None) -> dict[str, Result]:
    """Finished results of this version of the code, by case."""
    found: dict[str, Result] = {}
    for line in rows.read_text().splitlines() if rows is not None and rows.exists() else ():
        row = json.loads(line)
        if row.pop("version") == version():
            result = Result(**row | {"case": Case(**row["case"]), "failed": tuple(row["failed"])})
            found[result.case.id] = result
    return found


@cache
def version() -> str:
    """Eight digits that change with any line of firstbreak and of this suite."""
    sources = [p for folder in ("src/firstbreak", "benchmarks/statements") for p in (ROOT / folder).rglob("*")]
    content = b"".join(p.read_bytes() for p in sorted(sources) if p.suffix in (".py", ".json"))
    return f"{zlib.crc32(content):08x}"
