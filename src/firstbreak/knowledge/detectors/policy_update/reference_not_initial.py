"""The reference is not the policy at the start.

Looks for: Before the first update, the recorder compares the log-probabilities of policy and reference. The check
reports a mean distance above `above`. Without the recorder, it looks at the first logged divergence of a log that
begins at the first step: it must be 0. The check reports one above `logged` that the next values do not leave far
behind, as those of a policy that moves do. The first row of a log may be a mean over several updates: there it reports
one above `averaged`.
Why: The penalty, or the margin of a pair, pulls the policy towards another model.
False alarm: A policy that continues from a checkpoint, with the older model as its reference on purpose.
Fix:
- Load the weights of the reference, not only its configuration, from where the policy comes from.
Experiment: Log the divergence before the first update: it must be 0.
References: https://arxiv.org/abs/2305.18290
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Run, Series

ROLES = (Role.RELATION, Role.PROOF)
BEFORE = frozenset({"trl", "verl", "openrlhf"})  #: trainers that log the divergence of a batch before its update
NEXT = 4  #: divergences after the first one
FIRST_ROW = 2.0  #: intervals between two rows after 0: steps in epochs are rounded (convention)
STEADY = 0.7  #: of the first one: the distance of another reference stays, that of a first update comes and goes (convention)


def detect(
    config: Config,
    proof_reference_start: Series | None = None,
    proof_reference_gap: Series | None = None,
    kl_ref: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    run: Run | None = None,
    *,
    above: float = at(0.05, "nats", "16-bit arithmetic gives 0.01."),
    logged: float = at(0.03, "nats per token", "Arithmetic of 16 bits, and dropout, give a tenth to a third of it."),
    averaged: float = at(0.3, "nats per token", "A first row may be a mean over several updates, which move a little."),
) -> Finding | NotMeasured | None:
    start = proof_reference_start if proof_reference_start is not None else _begun(proof_reference_gap)
    if (
        start is None
        and kl_ref is not None
        and run is not None
        and run.trainer in BEFORE
        and (begins := _begins(kl_ref.finite)) is not None
    ):
        learned = bool(solved) or (trajectory is not None and trajectory.learned)
        return _apart(kl_ref.finite, logged if begins == "step" else averaged, begins, learned)
    if start is None:
        return NotMeasured("policy and reference were not compared before the first update")
    return proved(
        start,
        config,
        "policy and reference differ by {value} nats a token before the first update: load the reference from the policy's start",
        above=above,
    )


def _begun(gap: Series | None) -> Series | None:
    """The first batch of a loop that began at its first step: no update was made by then."""
    points = gap.finite if gap is not None else None
    return points.head(0.0) if points is not None and len(points) and points.steps[0] <= 1 else None


def _begins(curve: Series) -> str | None:
    """What the first value is of: the first "step", the first "row" of a log from its start; None: a later part of a run."""
    if len(curve) <= NEXT:
        return None
    first, second = curve.steps[:2]
    if curve.axis == "step" and first <= 1 and second - first <= 1:
        return "step"
    return "row" if 0 < first <= FIRST_ROW * median(np.diff(curve.steps)) else None


def _apart(curve: Series, logged: float, begins: str, learned: bool) -> Finding | None:
    first, after = float(curve.values[0]), median(curve.values[1 : 1 + NEXT])
    if first <= logged or after > 2 * first or float(curve.values[1 : 1 + NEXT].min()) < STEADY * first:
        return None
    return warning(
        "{curve} is {first} nats at the first {begins}, and must be {near}0: the reference is not the policy at the "
        "start; load both from the same weights, and compute both log-probabilities in the same way",
        seen_in(curve, "divergence from the reference", level=0.0),
        curve=curve.name,
        first=facts.first(curve),
        begins="step, before any update" if begins == "step" else "row of the log",
        near="" if begins == "step" else "near ",
        confidence=Confidence.HIGH if begins == "step" and not learned else Confidence.MEDIUM,
        numbers={"first": first},
    )
