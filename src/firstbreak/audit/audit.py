"""samples -> Audit: one pass over the dump, then everything that can be asked of its table."""

import itertools
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from functools import partial
from typing import Any, TypeVar

from firstbreak.audit import reward_hacking
from firstbreak.audit.diversity import diversity
from firstbreak.audit.embeddings import Embed
from firstbreak.audit.metrics import metrics
from firstbreak.audit.reward_hacking import RewardHackingTest
from firstbreak.audit.rows import AuditInputs, rows
from firstbreak.audit.rows.policy_versions import UNRECORDED
from firstbreak.audit.scoring import TruthStore, disagreement
from firstbreak.audit.selection import SelectedSample, select
from firstbreak.audit.shift import parts, sides
from firstbreak.audit.table import REWARD, SampleTable
from firstbreak.engine.checks import Check, run_check
from firstbreak.engine.families import Family, Policy
from firstbreak.engine.inputs import Inputs, SampledDiversity, answer_parts
from firstbreak.engine.registry import detectors
from firstbreak.engine.stats.direction import rises
from firstbreak.model import Link, Opener, Outcome, Run, Sample, Samples, Series, Severity
from firstbreak.processes import end_with_parent
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass, replace

HACKING, MISMATCH = "reward-hacking", "reward-truth-mismatch"  #: what is asked of the reward beside the rows

#: detectors that can be asked about samples as well as about curves; those that need nothing but samples always are
OF_SAMPLES = ("outputs-alike",)
A = TypeVar("A")
B = TypeVar("B")


@dataclass(frozen=True, kw_only=True, eq=False)
class Audit:
    """Everything that an audit has found."""

    path: str
    table: SampleTable
    hacking_test: RewardHackingTest
    diversity: SampledDiversity | None
    outcomes: tuple[Outcome, ...]  #: the hacking_test's first, then the rows by id
    selected: tuple[SelectedSample, ...]
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
    report: Callable[[int, int], None] = lambda done, total: None,
) -> Audit:
    """Audit the samples of a dump.

    `run` adds what the run's logs say of reward and evaluation, `marks` what people have said of samples (mark by key,
    see `marks`), `embed` tells strategies apart by their meaning (see `embeddings`). Memory is bounded whatever the dump
    holds, and what is found does not depend on `processes`. Raises Unreadable where the dump holds no sample.
    """
    table, truth_store = _counted(samples, marks, processes, report)
    if not table.samples:
        raise Unreadable(path, "holds no completion of training", "give a dump of completions, or a run that has one")
    inputs = Inputs(run) if run is not None else None
    proxy = _proxy(table, inputs)
    curves = _parts(table, inputs)
    answers = answer_parts(curves)
    shifts, components = sides(table, _logged(inputs) if inputs else {}), parts(table, curves, answers)
    found, hacking_test = reward_hacking.examine(
        proxy, _truths(truth_store, inputs, answers), shifts, components, truth_store
    )
    asked = [found for name, found in detectors().items() if name in OF_SAMPLES or found.needs == ("samples",)]
    evidence = AuditInputs(
        table=table,
        sides={side.metric.id: side for side in shifts},
        parts=tuple(components),
        answers=answers,
        agrees=reward_hacking.agrees(truth_store),
        diversity=diversity(table, embed),
        rewarded=len(proxy) >= reward_hacking.MIN_POINTS and rises(proxy),
        latest=tuple(table.latest),
    )
    about = OfSamples(evidence, samples)
    return Audit(
        path=path,
        table=table,
        hacking_test=hacking_test,
        diversity=evidence.diversity,
        outcomes=_undisputed(
            run_check(Check(id=HACKING, link=Link.REWARD, ask=lambda: found)),
            run_check(Check(id=MISMATCH, link=Link.REWARD, ask=lambda: disagreement(hacking_test.agreements))),
            *(run_check(check, about) for check in sorted([*rows().values(), *asked], key=lambda check: check.id)),
        ),
        selected=tuple(select(table.latest, table.baseline(), shifts)),
        notes=tuple(_notes(table)),
    )


def explained() -> dict[str, str]:
    """The page of each name that an audit prints."""
    pages = {name: metric.doc for name, metric in metrics().items()} | {name: row.doc for name, row in rows().items()}
    pages |= {HACKING: reward_hacking.__doc__ or "", MISMATCH: disagreement.__doc__ or ""}
    return {name: f"{name}: audit of samples\n\n{page}" for name, page in pages.items()}


class OfSamples:
    """The samples of a dump, as a check asks about them."""

    family = Family(policy=Policy.TEXT, policy_known=True, method=None, data=None)

    def __init__(self, evidence: AuditInputs, samples: Iterable[Sample]) -> None:
        self._given: dict[str, Any] = {"evidence": evidence, "sampled_diversity": evidence.diversity}
        if isinstance(samples, Samples):
            self._given["samples"] = Samples(lambda: _trained(samples), samples.sources)

    def ask(self, name: str) -> Any:
        """An input of a row, or what a detector may ask of samples; of curves there are none."""
        return self._given.get(name)

    def missing(self, name: str) -> str:
        """Why there is no such input."""
        return f"the samples show no {name}"


def _undisputed(*outcomes: Outcome) -> tuple[Outcome, ...]:
    """Nothing about the reward is called expected where something else warns of the reward."""
    of_reward = [o for o in outcomes if o.link is Link.REWARD]
    if not any(o.finding is not None and o.finding.severity is not Severity.NOTICE for o in of_reward):
        return outcomes
    return tuple(replace(o, expected=False, note="") if o.expected and o in of_reward else o for o in outcomes)


def _counted(
    samples: Iterable[Sample], marks: Mapping[str, str] | None, processes: int, report: Callable[[int, int], None]
) -> tuple[SampleTable, TruthStore]:
    """The table and the truth_store of all samples, from those of their parts."""
    parts = list(samples.parts()) if isinstance(samples, Samples) else [lambda: samples]
    table, truth_store = SampleTable(), TruthStore()
    counted_parts = _in_order(partial(_count, marks), parts, processes if len(parts) > 1 else 1)
    for done, (counted, known) in enumerate(counted_parts, 1):
        table.merge(counted)
        truth_store.merge(known)
        report(done, len(parts))
    return table, truth_store


def _count(marks: Mapping[str, str] | None, seed: int, part: Opener) -> tuple[SampleTable, TruthStore]:
    table, truth_store = SampleTable(seed), TruthStore(marks, seed)
    table.add(truth_store.watch(_trained(part())))
    return table, truth_store


def _in_order(count: Callable[[int, A], B], parts: Iterable[A], processes: int) -> Iterator[B]:
    """What is counted of each part and its number, in order; so few are on their way that memory stays bounded."""
    if processes == 1:
        yield from map(count, itertools.count(), parts)
        return
    with ProcessPoolExecutor(processes, initializer=end_with_parent) as pool:
        waiting: deque[Future[B]] = deque()
        for number, part in enumerate(parts):
            waiting.append(pool.submit(count, number, part))
            if len(waiting) > processes:
                yield waiting.popleft().result()
        yield from (future.result() for future in waiting)


def _trained(samples: Iterable[Sample]) -> Iterable[Sample]:
    """Without those of an evaluation: they are no evidence of what training pays for."""
    return (sample for sample in samples if sample.meta.get("split") != "eval")


def _proxy(table: SampleTable, inputs: Inputs | None) -> Series:
    """What is optimised: the mean reward that the run logs, else that of the samples."""
    logged = inputs.reward_mean if inputs else None
    return (
        logged.finite
        if logged is not None and len(logged.finite) >= reward_hacking.MIN_POINTS
        else table.series(REWARD)
    )


def _logged(inputs: Inputs) -> dict[str, Series]:
    """What the run's log says of side metrics."""
    signals = {"length": "length_mean", "tool-calls": "tool_call_freq", "tool-failures": "tool_failure_freq"}
    found = {name: inputs.ask(signal) for name, signal in signals.items()}
    return {name: series.finite for name, series in found.items() if series is not None and len(series.finite)}


def _parts(table: SampleTable, inputs: Inputs | None) -> dict[str, Series]:
    """The reward's components over the steps: as the run logs them, else as the samples have them."""
    logged = (inputs.reward_component_mean if inputs else None) or {}
    sampled = {name: table.series(f"{REWARD}/{name}") for name in table.parts}
    return sampled | {
        name: series.finite for name, series in logged.items() if len(series.finite) >= reward_hacking.MIN_POINTS
    }


def _truths(truth_store: TruthStore, inputs: Inputs | None, answers: Mapping[str, Series]) -> list[Series]:
    """The independent scores: of the samples, of the run's evaluation, and the parts of the reward that check answers."""
    found: list[Series | None] = [*truth_store.curves().values()]
    if inputs:
        evaluated = inputs.eval_reward_component_mean
        found += [inputs.eval_accuracy, inputs.eval_success_rate, inputs.eval_pass_at_k]
        found += answer_parts(evaluated).values()
        if evaluated is None:  # else the evaluated reward has the proxy's parts in it
            found.append(inputs.eval_reward)
    found += answers.values()
    return [s.finite for s in found if s is not None and len(s.finite) >= reward_hacking.MIN_POINTS]


def _notes(table: SampleTable) -> Iterable[str]:
    """What the dump does not say, and what that costs."""
    if table.without_step:
        yield f"{table.without_step} of {table.samples} samples carry no step: nothing can be said of when they were written"
    if table.without_reward:
        yield f"{table.without_reward} of {table.samples} samples carry no reward"
    if not len(table.curve("policy-age").steps):
        yield UNRECORDED
    if len(table.rows) < 2:
        yield "all samples are of one step: shifts need at least two, and their onset a dozen"
