"""Which cause explains the outcomes best: a naive-Bayes posterior whose every weight is shown.

For one detector, a candidate cause says how probable a finding is: P(found | cause). Every weight is the logarithm of
that probability over the same probability in a healthy run, so the weights of a cause add up to its log-odds against
"healthy", and the probabilities follow from these by one softmax. The probabilities are counted in the lab where it has runs
of the cause, and declared by the cause where it has none (likelihood.py). What was measured and found quiet weighs as well;
what was not measured weighs nothing.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from firstbreak.engine import likelihood
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.registry import Cause, causes, sections
from firstbreak.inputs import OF_SAMPLING, Inputs
from firstbreak.model import EMPTY, Confidence, Finding, Link, Outcome, RankedCause, Run, Severity, Status, Weight

NONE_OF_THESE = "none-of-these"
PRIOR, DOUBT = "prior", "doubt"  #: what the weights are called that no detector has given

PRIOR_HEALTHY = 0.5  #: share of runs that people look at and that are in order
PRIOR_NONE = 0.05  #: share of broken runs whose cause is not in the catalogue
PER_LINK = 0.95  #: the earlier link is suspected first: each link further in, the prior shrinks by this factor

#: how far a finding of this confidence moves the odds
TRUST: Mapping[Confidence, float] = {Confidence.HIGH: 1.0, Confidence.MEDIUM: 0.8, Confidence.LOW: 0.4}
#: what all evidence counts by: likeliest on the lab's training split, each task left out in turn, is 1.3 to 1.7
CALIBRATION = 1.5
SILENCE = 0.8  #: and what was looked for and not seen: the lab plants each fault in a few of its forms
TEMPER = 0.9  #: each further symptom counts by this factor less
#: nats for onsets that come in the order in which the cause produces them, and against it
IN_ORDER, OUT_OF_ORDER = 0.15, -0.35
#: nats where something grave came before all that the cause produces, and the cause does not produce it
NOT_FIRST = -1.0
MISLED = 0.04  #: share of runs whose curves mislead: likeliest there, as above, is 0.02 to 0.05
_PLACEHOLDER = re.compile(r"\{(\w+)\}")


def rank(
    inputs: Inputs, outcomes: Sequence[Outcome], known: Mapping[str, Sequence[Weight]] = EMPTY
) -> tuple[RankedCause, ...]:
    """All candidates that apply to this run, the most probable first; probabilities sum to 1.

    `known` is further evidence by candidate, such as the answers of an experiment. Beside it, what the curves had all but
    excluded is possible again (`doubted`).
    """
    elsewhere = OF_SAMPLING if inputs.get("supervised") else frozenset[Link]()
    applicable = [c for c in causes().values() if c.link not in elsewhere and c.applies(inputs)]
    scale = (1 - PRIOR_HEALTHY - PRIOR_NONE) / sum(_prior(c) for c in applicable) if applicable else 0.0
    evidence = {c.id: (_weigh_prior(_prior(c) * scale), *weigh(c, inputs, outcomes)) for c in applicable}
    evidence[NONE_OF_THESE] = (_weigh_prior(PRIOR_NONE), *_weigh_none(outcomes))
    evidence[HEALTHY] = ()
    if known:
        evidence = {name: (*weights, *known.get(name, ())) for name, weights in _with_doubt(evidence).items()}
    probabilities = _probabilities(evidence)
    catalogue = {c.id: c for c in applicable}
    ranked = [_ranked(name, catalogue.get(name), probabilities[name], evidence[name], inputs.run) for name in evidence]
    return tuple(sorted(ranked, key=lambda c: -c.probability))


def doubted(ranked: Sequence[RankedCause]) -> dict[str, float]:
    """Candidate -> probability, if in one run of `1 / MISLED` nothing but the prior is to be believed.

    A product of many small probabilities is surer than its model is. Where an experiment speaks as well, a cause that the
    curves gave one chance in a million must not need a million to one.
    """
    believed = {c.id: c.probability for c in ranked}
    evidence = {c.id: c.evidence for c in ranked}
    if any(w.finding == DOUBT for weights in evidence.values() for w in weights):
        return believed
    return _mixed(believed, evidence)


def _mixed(believed: Mapping[str, float], evidence: Mapping[str, tuple[Weight, ...]]) -> dict[str, float]:
    priors = {name: tuple(w for w in weights if w.finding == PRIOR) for name, weights in evidence.items()}
    before = _probabilities(priors)
    return {name: (1 - MISLED) * believed[name] + MISLED * before[name] for name in evidence}


def _with_doubt(evidence: Mapping[str, tuple[Weight, ...]]) -> dict[str, tuple[Weight, ...]]:
    """The evidence with one weight more, which makes it say what `doubted` believes."""
    mixed = _mixed(_probabilities(evidence), evidence)
    text = f"curves mislead in {MISLED:.0%} of the runs"
    more = {name: math.log(mixed[name] / mixed[HEALTHY]) - _sum(weights) for name, weights in evidence.items()}
    return {
        name: (*weights, Weight(finding=DOUBT, weight=more[name], text=text)) if more[name] else weights
        for name, weights in evidence.items()
    }


def _probabilities(evidence: Mapping[str, tuple[Weight, ...]]) -> dict[str, float]:
    odds = {name: math.exp(min(_sum(weights), 600.0)) for name, weights in evidence.items()}
    total = sum(odds.values())
    return {name: odd / total for name, odd in odds.items()}


def _sum(weights: tuple[Weight, ...]) -> float:
    return sum(w.weight for w in weights)


def weigh(cause: Cause, inputs: Inputs, outcomes: Sequence[Outcome]) -> list[Weight]:
    """The evidence for and against one cause, heaviest first."""
    weights = [w for o in outcomes if (w := _weigh_outcome(o, cause.id, cause.findings.get(o.detector))) is not None]
    return _calibrated(_tempered(weights) + _weigh_order(cause, outcomes) + list(cause.facts(inputs)))


def _calibrated(weights: list[Weight]) -> list[Weight]:
    return [Weight(finding=w.finding, weight=CALIBRATION * w.weight, text=w.text) for w in weights]


def _tempered(weights: list[Weight]) -> list[Weight]:
    """Symptoms of one fault are not independent of each other: the heaviest counts in full, the others less and less."""
    weights = sorted(weights, key=lambda w: -abs(w.weight))
    return [Weight(finding=w.finding, weight=w.weight * TEMPER**i, text=w.text) for i, w in enumerate(weights)]


def _prior(cause: Cause) -> float:
    return cause.prior * PER_LINK**cause.link.order


def _weigh_prior(prior: float) -> Weight:
    return Weight(finding=PRIOR, weight=math.log(prior / PRIOR_HEALTHY), text="before looking, against a healthy run")


def _weigh_outcome(outcome: Outcome, cause: str, declared: float | None) -> Weight | None:
    """The weight of one detector's answer for a cause, `declared` being the probability that the cause gives it."""
    name, finding = outcome.detector, outcome.finding
    if outcome.status is Status.FOUND and finding is not None:
        probability = likelihood.under(cause, name, finding.severity, declared)
        weight = TRUST[finding.confidence] * math.log(probability / likelihood.in_healthy(name, finding.severity))
        return Weight(finding=name, weight=weight, text="seen" if declared else "seen, not explained by it")
    if outcome.status is Status.OK and (declared is not None or likelihood.known(cause, name)):
        silent = 1 - likelihood.under(cause, name, Severity.WARNING, declared)
        weight = SILENCE * math.log(max(silent, 0.02) / (1 - likelihood.in_healthy(name, Severity.WARNING)))
        reason = f"quiet: {outcome.note}" if outcome.expected else "looked for and not seen"
        return Weight(finding=name, weight=weight, text=reason)
    return None


def _weigh_none(outcomes: Sequence[Outcome]) -> list[Weight]:
    found = [o for o in outcomes if o.finding is not None]
    return _calibrated(_tempered([w for o in found if (w := _weigh_outcome(o, NONE_OF_THESE, None)) is not None]))


def _weigh_order(cause: Cause, outcomes: Sequence[Outcome]) -> list[Weight]:
    """Do the onsets come in the order in which the cause produces its findings? Overlapping intervals say nothing."""
    seen = {o.detector: o.finding for o in outcomes if o.finding is not None and o.finding.interval is not None}
    expected = [(name, seen[name]) for name in cause.findings if name in seen]
    weights = []
    for (sooner, a), (later, b) in pairwise(expected):
        if order := _order(a, b):
            text = f"{sooner} before {later}" if order > 0 else f"{later} came before {sooner}"
            weights.append(Weight(finding="order", weight=IN_ORDER if order > 0 else OUT_OF_ORDER, text=text))
    if (earliest := _earliest(outcomes)) is not None:
        what, first = earliest
        explained = [finding for _, finding in expected if finding.severity is not Severity.NOTICE]
        if what not in cause.findings and explained and all(_order(first, finding) > 0 for finding in explained):
            weights.append(
                Weight(finding="order", weight=NOT_FIRST, text=f"{what} came first, and it does not explain it")
            )
    return weights


def _earliest(outcomes: Sequence[Outcome]) -> tuple[str, Finding] | None:
    """The grave finding of which it is soonest certain that it had set in, and its detector."""
    dated = [
        (o.finding.interval, o.detector, o.finding) for o in outcomes if o.finding is not None and o.finding.interval
    ]
    grave = [(interval[1], interval[0], name, finding) for interval, name, finding in dated if _grave(finding)]
    return min(grave, key=lambda found: found[:3])[2:] if grave else None


def _grave(finding: Finding) -> bool:
    sure = finding.severity is Severity.WARNING and finding.confidence is Confidence.HIGH
    return sure or finding.severity is Severity.CRITICAL


def _order(a: Finding, b: Finding) -> int:
    assert a.interval is not None
    assert b.interval is not None
    if a.interval[1] < b.interval[0]:
        return 1
    return -1 if b.interval[1] < a.interval[0] else 0


def _ranked(name: str, cause: Cause | None, probability: float, evidence: tuple[Weight, ...], run: Run) -> RankedCause:
    if cause is None:
        title = "Nothing is wrong" if name == HEALTHY else "Something that is not in the catalogue"
        return RankedCause(id=name, title=title, link=None, probability=probability, evidence=evidence)
    text = sections(cause.doc)
    steps = tuple(line.lstrip("- ").strip() for line in _items(text.get("Fix", "")))
    return RankedCause(
        id=name,
        title=cause.title.rstrip("."),
        link=cause.link,
        probability=probability,
        evidence=evidence,
        fix=tuple(with_options(step, run) for step in steps),
        experiment=replace(
            cause.experiment, text=with_options(" ".join(text.get("Smallest experiment", "").split()), run)
        ),
    )


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
    """`{max_new_tokens}` in a text becomes this trainer's own option, with its value where the run recorded one."""
    for name in set(_PLACEHOLDER.findall(text)):
        value = None if name in run.config.defaulted else run.config.get(name)
        shown = run.config.option(name) + (f" (now {value})" if value is not None else "")
        text = text.replace("{" + name + "}", f"`{shown}`")
    return text
