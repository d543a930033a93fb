"""The policy loss shows no direction, turns round, or jumps.

## What it looks for
The policy loss can do four things. Its size stays calm or shrinks slowly: this is in order. It oscillates round zero
without a consistent sign. Its sign was positive and becomes negative for good. Its size grows or shrinks suddenly by
`ratio_warning`.

## Why it matters
The loss is the last quantity before the optimizer. A change of sign or a jump says that something changed abruptly: the
data, the learning rate, or the scale of the advantages.

## When it is a false alarm
With normalised or group-relative advantages the loss is about 0 by construction, and its sign means nothing: this is
reported as expected. If the score rises, the other patterns do not count.

## Fix
- Find out what changed at that step: the stage of the data, the schedule of the learning rate, the scale of the reward,
  or a resumed run.
- If the loss has no direction and the score is flat, stop: the updates are noise.

## Smallest experiment
Repeat the updates around the jump from the last checkpoint with the same seed: a jump that comes back is in the data,
and a jump that does not come back was numerical.

## References
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

from typing import Annotated

from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.families import Method
from firstbreak.diagnosis.stats.oscillation import magnitude_jump, oscillation, sign_reversal
from firstbreak.diagnosis.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.words import number

CENTRED = frozenset({Method.GROUP_RELATIVE})

EITHER_SCORE = True


def detect(
    config: Config,
    policy_loss: Series | None = None,
    loss_total: Series | None = None,
    method: Method | None = None,
    trajectory: Trajectory | None = None,
    *,
    ratio_warning: Annotated[
        float,
        Threshold(unit="ratio", reason="A loss that is noisy by nature doubles by chance.", source="convention"),
    ] = 3.0,
    tolerance: Annotated[
        float, Threshold(unit="loss", reason="A smaller loss is rounding, whatever it was before.", source="convention")
    ] = 1e-6,
    near_zero: Annotated[
        float,
        Threshold(unit="loss", reason="Small against a normalised advantage, whose size is 1.", source="convention"),
    ] = 0.1,
    min_p_value: Annotated[
        float,
        Threshold(
            unit="probability",
            reason="The usual level of a test: above this, the mean cannot be told from 0.",
            source="convention",
        ),
    ] = 0.05,
    min_points: Annotated[
        int, Threshold(unit="points", reason="Fewer losses show no pattern.", source="convention")
    ] = 20,
) -> Finding | Expected | NotMeasured | None:
    loss = (
        policy_loss
        if policy_loss is not None
        else loss_total
        if method in (Method.GROUP_RELATIVE, Method.ACTOR_CRITIC)
        else None
    )
    if loss is None:
        return NotMeasured("no policy loss is logged")
    if len(loss.finite) < min_points and method not in CENTRED:
        return NotMeasured(f"{len(loss.finite)} losses are too few to see a pattern (needs {min_points})")
    if method in CENTRED and _about_zero(loss, near_zero):
        return Expected(
            f"{loss.raw or loss.name} is about 0 by construction: group-relative advantages average to 0 and the "
            "ratio starts at 1, so the loss says nothing about progress; the gradient norm and the reward do"
        )
    harmed = trajectory is not None and trajectory.lost
    reversal = sign_reversal(loss)
    if reversal is not None and reversal.before > 0 > reversal.after and harmed:
        return _finding(
            loss,
            f"the loss changed its sign from {number(reversal.before)} to {number(reversal.after)} at step "
            f"{number(reversal.step)} and the score fell: the updates now push the other way; stop, and check what "
            "changed there",
            Severity.WARNING,
            reversal.step,
        )
    leap = magnitude_jump(loss, factor=ratio_warning)
    if leap is not None and harmed and leap.after > tolerance:
        return _finding(
            loss,
            f"the size of the loss jumped from {number(leap.before)} to {number(leap.after)} at step "
            f"{number(leap.step)}: check what changed there in the data, the schedule or the scale of the reward",
            Severity.WARNING,
            leap.step,
        )
    swing = oscillation(loss)
    if swing is not None and swing.p > min_p_value and trajectory is not None and trajectory.kind == "flat":
        source = "the critic" if method is Method.VALUE_BASED else "the advantages"
        return _finding(
            loss,
            f"the loss oscillates round zero ({number(swing.mean)} on average) and the score is flat: the updates "
            f"have no common direction; check {source} before you train longer",
            Severity.NOTICE,
            float(loss.steps[0]),
        )
    return None


def _about_zero(loss: Series, near_zero: float) -> bool:
    """Small against the unit size of a normalised advantage."""
    values = loss.finite.values
    return bool(len(values)) and abs(float(values.mean())) < near_zero


def _finding(loss: Series, message: str, severity: Severity, step: float) -> Finding:
    return Finding(
        message=message,
        severity=severity,
        confidence=Confidence.MEDIUM,
        metric=loss.name,
        onset=step,
        interval=(step, step),
        evidence=(Evidence(text="policy loss", series=loss, since=step, level=0.0),),
    )
