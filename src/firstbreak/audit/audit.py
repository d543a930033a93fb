"""samples -> Audit: one pass over the dump, then everything that can be asked of its table."""

from __future__ import annotations

import itertools
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from firstbreak.audit import triad as triads
from firstbreak.audit.diversity import Diversity, diversity
from firstbreak.audit.embeddings import Embed
from firstbreak.audit.rows import AuditRow, Evidence, Found, rows
from firstbreak.audit.scoring import Ledger, disagreement
from firstbreak.audit.selection import Pick, select
from firstbreak.audit.shift import parts, sides
from firstbreak.audit.table import REWARD, Table
from firstbreak.audit.triad import Triad
from firstbreak.inputs import Inputs, answer_parts
from firstbreak.model import (
    Expected,
    Finding,
    Link,
    NotApplicable,
    NotMeasured,
    Opener,
    Outcome,
    Run,
    Sample,
    Samples,
    Series,
    Status,
)
from firstbreak.readers import Unreadable
from firstbreak.stats.direction import rises

HACKING = "reward-hacking"  #: the id of the triad's outcome

A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """Everything that an audit has found."""

    path: str
    table: Table
    triad: Triad
    diversity: Diversity | None
    outcomes: tuple[Outcome, ...]  #: the triad's first, then the rows by id
    picks: tuple[Pick, ...]
    notes: tuple[str, ...] = ()

    @property
    def findings(self) -> tuple[Outcome, ...]:
        """What was found, worst first."""
        found = [outcome for outcome in self.outcomes if outcome.finding is not None]
        return tuple(sorted(found, key=lambda o: -o.finding.severity.rank if o.finding else 0))


def audit(
    samples: Iterable[Sample],
    *,
    path: str = "",
    run: Run | None = None,
    marks: Mapping[str, str] | None = None,
    processes: int = 1,
    embed: Embed | None = None,
) -> Audit:
    """Audit the samples of a dump.

    `run` adds what the run's logs say of reward and evaluation, `marks` what people have said of samples (mark by key,
    see `marks`), `embed` tells strategies apart by their meaning (see `embeddings`). Memory is bounded whatever the dump
    holds, and what is found does not depend on `processes`. Raises Unreadable where the dump holds no sample.
    """
    table, ledger = _counted(samples, marks, processes)
    if not table.samples:
        raise Unreadable(path, "holds no completion of training", "give a dump of completions, or a run that has one")
    inputs = Inputs(run) if run is not None else None
    proxy = _proxy(table, inputs)
    curves = _parts(table, inputs)
    answers = answer_parts(curves)
    shifts, components = sides(table, _logged(inputs) if inputs else {}), parts(table, curves, answers)
    found, triad = triads.examine(proxy, _truths(ledger, inputs, answers), shifts, components, ledger)
    evidence = Evidence(
        table=table,
        sides={side.metric.id: side for side in shifts},
        parts=tuple(components),
        diversity=diversity(table, embed),
        rewarded=len(proxy) >= triads.MIN_POINTS and rises(proxy),
        latest=tuple(table.latest),
    )
    return Audit(
        path=path,
        table=table,
        triad=triad,
        diversity=evidence.diversity,
        outcomes=(
            _outcome(HACKING, Link.REWARD, found),
            _outcome("reward-truth-mismatch", Link.REWARD, disagreement(triad.agreements)),
            *(_outcome(row.id, row.link, _answer(row, evidence)) for row in rows().values()),
        ),
        picks=tuple(select(table.latest, table.baseline(), shifts)),
        notes=tuple(_notes(table)),
    )


def _counted(samples: Iterable[Sample], marks: Mapping[str, str] | None, processes: int) -> tuple[Table, Ledger]:
    """The table and the ledger of all samples, from those of their parts."""
    parts = list(samples.parts()) if isinstance(samples, Samples) else [lambda: samples]
    table, ledger = Table(), Ledger()
    for counted, known in _in_order(partial(_count, marks), parts, processes if len(parts) > 1 else 1):
        table.merge(counted)
        ledger.merge(known)
    return table, ledger


def _count(marks: Mapping[str, str] | None, seed: int, part: Opener) -> tuple[Table, Ledger]:
    table, ledger = Table(seed), Ledger(marks, seed)
    table.add(ledger.watch(_trained(part())))
    return table, ledger


def _in_order(count: Callable[[int, A], B], parts: Iterable[A], processes: int) -> Iterator[B]:
    """What is counted of each part and its number, in order; so few are on their way that memory stays bounded."""
    if processes == 1:
        yield from map(count, itertools.count(), parts)
        return
    with ProcessPoolExecutor(processes) as pool:
        waiting: deque[Future[B]] = deque()
        for number, part in enumerate(parts):
            waiting.append(pool.submit(count, number, part))
            if len(waiting) > processes:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)


def _trained(samples: Iterable[Sample]) -> Iterable[Sample]:
    """Without those of an evaluation: they are no evidence of what training pays for."""
    return (sample for sample in samples if sample.meta.get("split") != "eval")


def _answer(row: AuditRow, evidence: Evidence) -> Found | Exception:
    try:
        return row.examine(evidence)
    except Exception as error:  # one bad row must not hide what the others see
        return error


def _outcome(name: str, link: Link, found: Found | Exception) -> Outcome:
    match found:
        case Finding():
            return Outcome(detector=name, link=link, status=Status.FOUND, finding=found)
        case NotMeasured(why):
            return Outcome(detector=name, link=link, status=Status.NOT_MEASURED, note=why)
        case NotApplicable(why):
            return Outcome(detector=name, link=link, status=Status.NOT_APPLICABLE, note=why)
        case Expected(why):
            return Outcome(detector=name, link=link, status=Status.OK, note=why, expected=True)
        case Exception():
            frame = traceback.extract_tb(found.__traceback__)[-1]
            note = f"{type(found).__name__}: {found} ({Path(frame.filename).name}:{frame.lineno})"
            return Outcome(detector=name, link=link, status=Status.CRASHED, note=note)
    return Outcome(detector=name, link=link, status=Status.OK)


def _proxy(table: Table, inputs: Inputs | None) -> Series:
    """What is optimised: the mean reward that the run logs, else that of the samples."""
    logged = inputs.get("reward_mean") if inputs else None
    return logged.finite if logged is not None and len(logged.finite) >= triads.MIN_POINTS else table.series(REWARD)


def _logged(inputs: Inputs) -> dict[str, Series]:
    """What the run's log says of side metrics."""
    signals = {"length": "length_mean", "tool-calls": "tool_call_freq", "tool-failures": "tool_failure_freq"}
    found = {name: inputs.get(signal) for name, signal in signals.items()}
    return {name: series.finite for name, series in found.items() if series is not None and len(series.finite)}


def _parts(table: Table, inputs: Inputs | None) -> dict[str, Series]:
    """The reward's components over the steps: as the run logs them, else as the samples have them."""
    logged = (inputs.get("reward_component_mean") if inputs else None) or {}
    sampled = {name: table.series(f"{REWARD}/{name}") for name in table.parts}
    return sampled | {name: series.finite for name, series in logged.items() if len(series.finite) >= triads.MIN_POINTS}


def _truths(ledger: Ledger, inputs: Inputs | None, answers: Mapping[str, Series]) -> list[Series]:
    """The independent scores: of the samples, of the run's evaluation, and the parts of the reward that check answers."""
    found = [*ledger.curves().values()]
    if inputs:
        evaluated = inputs.get("eval_reward_component_mean")
        found += [inputs.get(name) for name in ("eval_accuracy", "eval_success_rate", "eval_pass_at_k")]
        found += answer_parts(evaluated).values()
        if evaluated is None:  # else the evaluated reward has the proxy's parts in it
            found.append(inputs.get("eval_reward"))
    found += answers.values()
    return [s.finite for s in found if s is not None and len(s.finite) >= triads.MIN_POINTS]


def _notes(table: Table) -> Iterable[str]:
    """What the dump does not say, and what that costs."""
    if table.without_step:
        yield f"{table.without_step} of {table.samples} samples carry no step: nothing can be said of when they were written"
    if table.without_reward:
        yield f"{table.without_reward} of {table.samples} samples carry no reward"
    if len(table.rows) < 2:
        yield "all samples are of one step: shifts need at least two, and their onset a dozen"
