"""Which cause explains the outcomes best: a naive-Bayes posterior, and every weight of it is shown.

A cause says for each detector how probable a finding is: P(found | cause). Each weight is the logarithm of that probability
divided by the same probability in a healthy run. The weights of a cause add up to its log-odds against "healthy", and one
softmax turns them into probabilities. P(found | cause) is counted in the lab where the lab has runs of the cause, and
declared by the cause where it has none (likelihood.py). A check that found nothing has a weight as well; a check that was
not measured has none.
"""

import math
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np

from firstbreak.engine import common_settings, likelihood
from firstbreak.engine.catalogue import LACKS, smallest
from firstbreak.engine.families import OF_LINK, Family, for_family
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.refutations import CONTRADICTED, DENIED, INSIDE
from firstbreak.engine.registry import Cause, causes, sections
from firstbreak.model import (
    EMPTY,
    Confidence,
    Experiment,
    Finding,
    Link,
    Outcome,
    RankedCause,
    Role,
    Run,
    Severity,
    Statistic,
    Status,
    Weight,
    WeightKind,
)
from firstbreak.values import replace
from firstbreak.words import number, quoted, step_word

NONE_OF_THESE = "none-of-these"

PRIOR_HEALTHY = 0.5  #: share of healthy runs among those that people look at (convention)
PRIOR_NONE = 0.05  #: share of runs whose cause is not in the catalogue (convention)
PER_LINK = 0.95  #: factor of the prior for each link further along the loop: the earlier one comes first (convention)

#: factor of the weight of a finding with this confidence (convention)
TRUST: Mapping[Confidence, float] = {Confidence.HIGH: 1.0, Confidence.MEDIUM: 0.8, Confidence.LOW: 0.4}
#: factor of all evidence: the most likely value on the lab's training split, each task left out in turn, is 1.3 to 1.7
CALIBRATION = 1.5
QUIET = 0.8  #: factor of a check that found nothing: the lab injects each fault in a few of its forms only (convention)
UNSEEN = 1.0  #: nats against a cause that is proved, of everything that was not seen of it (convention)
TEMPER = 0.9  #: factor of each further weight: symptoms of one fault are not independent (convention)
#: nats for two onsets that come in the order in which the cause produces them, and in the opposite order (convention)
IN_ORDER, OUT_OF_ORDER = 0.15, -0.35
#: nats where a serious finding that the cause does not produce came before all that it produces (convention)
NOT_FIRST = -1.0
#: share of runs whose curves mislead: the most likely value on the lab's training split, as above, is 0.02 to 0.05
MISLEADING = 0.04
NO_CURVES = frozenset({WeightKind.PRIOR, WeightKind.PROVED})  #: what no curve says
#: how much too sure the probabilities of causes are on runs of other trainers: the logarithms of their ratios are divided by
#: this. With each trainer left out, the most likely value is 1.6 to 2 (the runs of `python -m benchmarks.population`)
TEMPERATURE = 2.0
#: nats where an identity failed in the first batch and the cause does not explain it: training had changed nothing by then
NOT_FROM_THE_START = -3.0
ADVISED = 0.05  #: probability: a cause that is more probable has advice even where it is not shown (convention)
EARLY = 0.05  #: of the measured part of a run: nothing that is seen before has had time to cause it (convention)
FAR_ABOVE = 2.0  #: times the configured value: no schedule goes there (convention)
SAME = 0.01  #: relative difference below which a logged setting is the configured one: logs are rounded (convention)
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def rank(
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    known: Mapping[str, Sequence[Weight]] = EMPTY,
    *,
    shown: int | None = None,
) -> tuple[RankedCause, ...]:
    """All candidates that apply to this run, the most probable first; probabilities sum to 1.

    `known` is further evidence by candidate, such as the answers of an experiment. With such evidence, the curves count
    with some doubt (`cautious_probabilities`), and an experiment that has answered is not proposed again. `shown`: only so
    many candidates, and those above `ADVISED`, come with a fix and an experiment.
    """
    family = inputs.family
    possible = (c for c in causes().values() if OF_LINK[c.link].include(family) and c.families.include(family))
    applicable = [c for c in possible if c.applies(inputs)]
    catalogue = {c.id: c for c in applicable}
    scale = (1 - PRIOR_HEALTHY - PRIOR_NONE) / sum(_prior(c) for c in applicable) if applicable else 0.0
    told = [o for o in _events(outcomes) if o.status in (Status.FOUND, Status.OK)]
    evidence = {c.id: (_weigh_prior(_prior(c) * scale), *weigh(c, inputs, told)) for c in applicable}
    evidence[NONE_OF_THESE] = (_weigh_prior(PRIOR_NONE), *_weigh_none(told))
    evidence[HEALTHY] = ()
    evidence = _less_sure(evidence, catalogue)
    if known:
        evidence = {name: (*weights, *known.get(name, ())) for name, weights in _with_doubt(evidence).items()}
    probabilities = _probabilities(evidence)
    order = sorted(evidence, key=lambda name: -probabilities[name])
    advised = {name for i, name in enumerate(order) if shown is None or i < shown or probabilities[name] >= ADVISED}
    ranked = [
        _ranked(name, catalogue.get(name), probabilities[name], evidence[name], inputs, advised=name in advised)
        for name in order
    ]
    answered = {w.finding for weights in known.values() for w in weights if w.kind is WeightKind.ANSWER}
    ranked = [
        replace(c, experiment=None) if c.experiment is not None and f"experiment:{c.experiment.id}" in answered else c
        for c in ranked
    ]
    return tuple(ranked)


def _events(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    """The outcomes that are weighed: of several signs that the score fell, the surest alone, and no silence beside it."""
    signs = [(o, o.finding) for o in outcomes if o.finding is not None and Role.SCORE_FELL in o.roles]
    serious = [(o, f) for o, f in signs if f.severity is not Severity.NOTICE]
    if not serious:
        return outcomes
    surest, _ = max(serious, key=lambda sign: (sign[1].severity is Severity.CRITICAL, TRUST[sign[1].confidence]))
    return [o for o in outcomes if o is surest or Role.SCORE_FELL not in o.roles]


def by_link(ranked: Sequence[RankedCause]) -> dict[Link, float]:
    """P(this link broke first | something is broken): the probabilities of its causes, added up. They sum to 1."""
    mass: dict[Link, float] = {}
    for cause in ranked:
        if cause.link is not None:
            mass[cause.link] = mass.get(cause.link, 0.0) + cause.probability
    total = sum(mass.values())
    return {link: part / total for link, part in mass.items()} if total else {}


def cautious_probabilities(ranked: Sequence[RankedCause]) -> dict[str, float]:
    """Candidate -> probability, if the curves of a share `MISLEADING` of the runs say nothing: only the prior and proofs count.

    A product of many small probabilities is more certain than its model is. A cause to which the curves gave one chance in
    a million must not need a million to one from an experiment.
    """
    believed = {c.id: c.probability for c in ranked}
    evidence = {c.id: c.evidence for c in ranked}
    if any(w.kind is WeightKind.DOUBT for weights in evidence.values() for w in weights):
        return believed
    return _mixed(believed, evidence)


def _mixed(believed: Mapping[str, float], evidence: Mapping[str, tuple[Weight, ...]]) -> dict[str, float]:
    sure = {name: tuple(w for w in weights if w.kind in NO_CURVES) for name, weights in evidence.items()}
    before = _probabilities(sure)
    return {name: (1 - MISLEADING) * believed[name] + MISLEADING * before[name] for name in evidence}


def _less_sure(evidence: Mapping[str, tuple[Weight, ...]], catalogue: Container[str]) -> dict[str, tuple[Weight, ...]]:
    """The evidence with one more weight for each cause, so that all causes together stay as probable, and none is too sure.

    What is sure in the lab is less sure on the runs of another trainer: `TEMPERATURE` brings the causes nearer to each other.
    """
    sums = {name: _sum(weights) for name, weights in evidence.items() if name in catalogue}
    if not sums:
        return dict(evidence)
    total = _log_sum(sums.values()) - _log_sum(weight / TEMPERATURE for weight in sums.values())
    text = "weights are less sure on runs of other trainers"
    return dict(evidence) | {
        name: (*evidence[name], Weight(finding="other trainers", weight=more, kind=WeightKind.SURE, text=text))
        for name, weight in sums.items()
        if (more := weight / TEMPERATURE + total - weight)
    }


def _log_sum(logarithms: Iterable[float]) -> float:
    """The logarithm of the sum of exponentials."""
    return float(np.logaddexp.reduce(list(logarithms)))


def _with_doubt(evidence: Mapping[str, tuple[Weight, ...]]) -> dict[str, tuple[Weight, ...]]:
    """The evidence with one more weight, so that it gives the probabilities of `cautious_probabilities`."""
    mixed = _mixed(_probabilities(evidence), evidence)
    text = f"curves mislead in {MISLEADING:.0%} of the runs"
    more = {name: math.log(mixed[name] / mixed[HEALTHY]) - _sum(weights) for name, weights in evidence.items()}
    return {
        name: (*weights, Weight(finding="doubt", weight=more[name], kind=WeightKind.DOUBT, text=text))
        if more[name]
        else weights
        for name, weights in evidence.items()
    }


def _probabilities(evidence: Mapping[str, tuple[Weight, ...]]) -> dict[str, float]:
    odds = {name: math.exp(min(_sum(weights), 600.0)) for name, weights in evidence.items()}
    total = sum(odds.values())
    return {name: odd / total for name, odd in odds.items()}


def _sum(weights: tuple[Weight, ...]) -> float:
    return sum(w.weight for w in weights)


def weigh(cause: Cause, inputs: Inputs, outcomes: Sequence[Outcome]) -> list[Weight]:
    """The evidence for and against one cause, the largest weight first."""
    declared = {o.detector: cause.findings.get(o.detector) for o in outcomes}
    declared |= dict.fromkeys(_proved_later(cause, outcomes))  # it may come from what was proved before
    weights = [w for o in outcomes if (w := _weigh_outcome(o, cause.id, declared[o.detector])) is not None]
    proved = any(name in cause.findings for name, _ in _proofs(outcomes))
    weights = _quieter(weights) if proved else weights
    settings = {name: side for name, side in cause.settings.items() if name not in _found_in(cause, outcomes)}
    others = [
        *cause.weights(inputs),
        *common_settings.weights(settings, inputs),
        *_weigh_refutations(cause, inputs, proved),
    ]
    return _calibrated(weights, [*_weigh_order(cause, outcomes), *others])


def _proofs(outcomes: Sequence[Outcome]) -> list[tuple[str, Finding]]:
    """The detectors that prove something, each with what it found."""
    return [(o.detector, o.finding) for o in outcomes if o.finding is not None and Role.PROOF in o.roles]


def _proved_later(cause: Cause, outcomes: Sequence[Outcome]) -> list[str]:
    """The detectors that prove something of this cause, where everything proved of it came after a proof of something else."""
    proved = dict(_proofs(outcomes))
    others = [finding for name, finding in proved.items() if name not in cause.findings]
    mine = [name for name in proved if name in cause.findings]
    later = any(all(_before(other, proved[name]) for name in mine) for other in others)
    return mine if later else []


def _before(a: Finding, b: Finding) -> bool:
    return a.interval is not None and b.interval is not None and _order(a, b) > 0


def _found_in(cause: Cause, outcomes: Sequence[Outcome]) -> set[str]:
    """The settings that findings of this cause are made of: what is found counts once."""
    found = (o.finding for o in outcomes if o.finding is not None and o.detector in cause.findings)
    return {fact.curve for finding in found for fact in finding.stated if fact.statistic is Statistic.SETTING}


def _weigh_refutations(cause: Cause, inputs: Inputs, proved: bool) -> list[Weight]:
    """What the run shows and the cause denies; one contradiction is enough. No curve denies what is proved."""
    for denies in sorted(cause.refuted_by, key=lambda each: each not in INSIDE):
        if (denies in INSIDE or not proved) and (said := denies(inputs)) is not None:
            weight = DENIED if denies in INSIDE else CONTRADICTED
            return [Weight(finding="refuted", weight=weight, kind=WeightKind.REFUTED, text=said)]
    return []


def _quieter(weights: list[Weight]) -> list[Weight]:
    """What was not seen of a cause of which something is proved: together not more than `UNSEEN` against it."""
    silence = -sum(w.weight for w in weights if w.kind is WeightKind.QUIET and w.weight < 0)
    share = min(1.0, UNSEEN / silence) if silence else 1.0
    return [replace(w, weight=share * w.weight) if w.kind is WeightKind.QUIET else w for w in weights]


def _calibrated(symptoms: list[Weight], others: list[Weight]) -> list[Weight]:
    """Symptoms of one fault are not independent of each other: the largest weight counts in full, the next ones less and less."""
    symptoms = sorted(symptoms, key=lambda w: -abs(w.weight))
    factors = [*(TEMPER**i for i in range(len(symptoms))), *(1.0 for _ in others)]
    return [
        Weight(finding=w.finding, weight=CALIBRATION * (factor * w.weight), kind=w.kind, text=w.text)
        for w, factor in zip([*symptoms, *others], factors, strict=True)
    ]


def _prior(cause: Cause) -> float:
    return cause.prior * PER_LINK**cause.link.order


def _weigh_prior(prior: float) -> Weight:
    weight = math.log(prior / PRIOR_HEALTHY)
    return Weight(finding="prior", weight=weight, kind=WeightKind.PRIOR, text="prior, against a healthy run")


def _weigh_outcome(outcome: Outcome, cause: str, declared: float | None) -> Weight | None:
    """The weight of one detector's answer for a cause, `declared` being the probability that the cause gives it."""
    name, finding = outcome.detector, outcome.finding
    if outcome.status is Status.FOUND and Role.PROOF in outcome.roles:
        false = likelihood.proof_elsewhere(name)
        weight = math.log((declared or false) / false)
        kind, text = WeightKind.PROVED, "proved"
        if not declared:
            kind, text = WeightKind.UNEXPLAINED, "proved, and of another cause"
        return Weight(finding=name, weight=weight, kind=kind, text=text)
    if outcome.status is Status.FOUND and finding is not None:
        probability = likelihood.under(cause, name, finding.severity, declared)
        weight = TRUST[finding.confidence] * math.log(probability / likelihood.in_healthy(name, finding.severity))
        kind, text = WeightKind.FOUND, "found"
        if not declared:
            kind, text = WeightKind.UNEXPLAINED, "found, as with any fault: no sign of this cause"
        return Weight(finding=name, weight=weight, kind=kind, text=text)
    if outcome.status is Status.OK and (declared is not None or likelihood.known(cause, name)):
        quiet = 1 - likelihood.under(cause, name, Severity.WARNING, declared)
        weight = QUIET * math.log(max(quiet, 0.02) / (1 - likelihood.in_healthy(name, Severity.WARNING)))
        reason = f"as expected: {outcome.note}" if outcome.expected else "checked, not found"
        return Weight(finding=name, weight=weight, kind=WeightKind.QUIET, text=reason)
    return None


def _weigh_none(outcomes: Sequence[Outcome]) -> list[Weight]:
    found = [o for o in outcomes if o.finding is not None]
    return _calibrated([w for o in found if (w := _weigh_outcome(o, NONE_OF_THESE, None)) is not None], [])


def _weigh_order(cause: Cause, outcomes: Sequence[Outcome]) -> list[Weight]:
    """Do the onsets come in the order in which the cause produces its findings? Overlapping intervals say nothing."""
    seen = {o.detector: o.finding for o in outcomes if o.finding is not None and o.finding.interval is not None}
    expected = [(name, seen[name]) for name in cause.findings if name in seen]
    weights = []
    for (sooner, a), (later, b) in pairwise(expected):
        if order := _order(a, b):
            text = f"{sooner} came before {later}" if order > 0 else f"{later} came before {sooner}"
            weights.append(_of_order(IN_ORDER if order > 0 else OUT_OF_ORDER, text))
    proofs = [name for name, finding in _proofs(outcomes) if _early(finding, 0.0)]
    if proofs and not any(name in cause.findings for name in proofs):
        text = f"{proofs[0]} was proved in the first batch, and this cause does not explain it"
        return [*weights, _of_order(NOT_FROM_THE_START, text)]
    proofs = [name for name, finding in _proofs(outcomes) if _early(finding, EARLY)]
    if proofs and not any(name in cause.findings for name, _ in _proofs(outcomes)):
        text = f"{proofs[0]} was proved near the start, and this cause explains nothing that is proved"
        return [*weights, _of_order(NOT_FROM_THE_START, text)]
    if (earliest := _first_certain(outcomes)) is not None:
        what, first = earliest
        explained = [finding for _, finding in expected if finding.severity is not Severity.NOTICE]
        if what not in cause.findings and explained and all(_order(first, finding) > 0 for finding in explained):
            weights.append(_of_order(NOT_FIRST, f"{what} came first, and this cause does not explain it"))
    return weights


def _early(finding: Finding, share: float) -> bool:
    """Whether it failed within the first `share` of what was measured: with 0, where it was measured first."""
    series = next((e.series for e in finding.evidence if e.series is not None), None)
    if series is None or not len(series.finite) or finding.onset is None:
        return False
    first, last = float(series.finite.steps[0]), float(series.finite.steps[-1])
    return finding.onset <= first + share * (last - first)


def _of_order(weight: float, text: str) -> Weight:
    return Weight(finding="order", weight=weight, kind=WeightKind.ORDER, text=text)


def _first_certain(outcomes: Sequence[Outcome]) -> tuple[str, Finding] | None:
    """The serious finding whose onset is certain first, and its detector."""
    dated = [
        (o.finding.interval, o.detector, o.finding) for o in outcomes if o.finding is not None and o.finding.interval
    ]
    serious = [(interval[1], interval[0], name, finding) for interval, name, finding in dated if _certain(finding)]
    return min(serious, key=lambda found: found[:3])[2:] if serious else None


def _certain(finding: Finding) -> bool:
    certain = finding.severity is Severity.WARNING and finding.confidence is Confidence.HIGH
    return certain or finding.severity is Severity.CRITICAL


def _order(a: Finding, b: Finding) -> int:
    assert a.interval is not None
    assert b.interval is not None
    if a.interval[1] < b.interval[0]:
        return 1
    return -1 if b.interval[1] < a.interval[0] else 0


def _ranked(
    name: str, cause: Cause | None, probability: float, evidence: tuple[Weight, ...], inputs: Inputs, *, advised: bool
) -> RankedCause:
    if cause is None:
        title = "Nothing is wrong" if name == HEALTHY else "A cause that is not in the catalogue"
        return RankedCause(id=name, title=title, link=None, probability=probability, evidence=evidence)
    experiment = _experiment(cause, name, inputs) if advised else None
    fix = sorted(advice(cause, inputs.family)[0], key=lambda step: not _mends(step, cause, inputs)) if advised else []
    return RankedCause(
        id=name,
        title=cause.title.rstrip("."),
        link=cause.link,
        probability=probability,
        evidence=evidence,
        fix=tuple(with_options(step, inputs.run) for step in fix if not _idle(step, cause, inputs)),
        experiment=experiment,
    )


def _experiment(cause: Cause, name: str, inputs: Inputs) -> Experiment | None:
    """The smallest experiment of a cause, and how many steps of this run it takes."""
    experiment, last = smallest(cause.experiments, name, inputs.family), inputs.run.last_step
    if experiment is None:
        return None
    steps = math.ceil(experiment.length * (last or 0.0))
    long = f" (about {number(steps)} {step_word(inputs.run.axis)}{'s' * (steps != 1)})" if steps else ""
    return replace(experiment, text=f"{experiment.text}{long}.")


def advice(cause: Cause, family: Family) -> tuple[tuple[str, ...], str]:
    """What a cause advises runs of this family: the steps of its fix, and its smallest experiment in words."""
    text = sections(cause.doc)
    fixes = (for_family(line.lstrip("- ").strip(), family) for line in _items(text.get("Fix", "")))
    plan = (for_family(" ".join(part.split()), family) for part in text.get("Smallest experiment", "").split("\n\n"))
    return tuple(step for step in fixes if step), " ".join(part for part in plan if part)


def _items(text: str) -> list[str]:
    """A Markdown list's items, continuation lines joined."""
    items: list[str] = []
    for line in text.splitlines():
        if line.startswith("- ") or not items:
            items.append(line.strip())
        else:
            items[-1] += " " + line.strip()
    return [i for i in items if i]


def with_options(text: str, run: Run) -> str:
    """`{max_new_tokens}` in a text becomes this trainer's own option, at its first mention with the value that the run recorded.

    A value that is logged counts before the one that is configured: a schedule may have changed it. Where it was far above
    both on the way, it jumped, and this is said.
    """
    for name in set(_PLACEHOLDER.findall(text)):
        value = None if name in run.config.defaulted else run.config.get(name)
        shown = quoted(run.config.option(name)) + (f" (now {now})" if (now := _now(run, name, value)) else "")
        text = text.replace("{" + name + "}", shown, 1).replace("{" + name + "}", quoted(run.config.option(name)))
    return text


def _now(run: Run, name: str, configured: object) -> str:
    seen = common_settings.logged(run, name)
    if seen is None:
        return "" if configured is None else f"{configured}"
    last = number(seen[1])
    planned = run.config.number(name) if configured is not None else None
    same = planned is None or math.isclose(planned, seen[1], rel_tol=SAME)
    told = (last if planned is None else f"{configured}") if same else f"{last}, set to {configured}"
    jumped = planned is not None and seen[0] > FAR_ABOVE * max(planned, seen[1])
    return f"{told}, and {number(seen[0])} at its highest" if jumped else told


def _mends(step: str, cause: Cause, inputs: Inputs) -> bool:
    """Whether a step of a fix asks for a setting that is outside what is usual."""
    asked = (name for name in _PLACEHOLDER.findall(step) if name in cause.settings)
    return any(common_settings.amiss(name, cause.settings[name], inputs) for name in asked)


def _idle(step: str, cause: Cause, inputs: Inputs) -> bool:
    """Whether a step of a fix asks only for settings that the run already has, or that its algorithm lacks."""
    named = _PLACEHOLDER.findall(step)
    if named and LACKS.get(inputs.run.algorithm or "", frozenset()).issuperset(named):
        return True
    asked = [name for name in named if name in cause.settings]
    return bool(asked) and all(common_settings.settled(name, cause.settings[name], inputs) for name in asked)
