"""The policy loss shows no direction, turns round, or jumps.

## What it looks for
The policy loss can do four things. Its size stays calm or shrinks slowly: this is in order. It oscillates round zero
with as many values above as below. Its sign was positive and becomes negative for good. Its size grows or shrinks at
once by `ratio_warning`, and stays there.

## Why it matters
The loss is the last quantity before the optimizer. A change of sign or a jump says that something changed abruptly: the
data, the learning rate, or the scale of the advantages.

## When it is a false alarm
With normalised or group-relative advantages the loss is about 0 by construction, and its sign means nothing: this is
reported as expected, unless nearly all of its values have one sign. If the score rises from that step on, the
sign does not count. A jump is always worth a line, and a warning if the score was lost.

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

import numpy as np

from firstbreak.diagnosis import facts
from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.families import Method
from firstbreak.diagnosis.stats.breaks import CALMING
from firstbreak.diagnosis.stats.changes import Change, changes
from firstbreak.diagnosis.stats.direction import rises
from firstbreak.diagnosis.stats.oscillation import oscillation, sign_reversal
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
    score: Series | None = None,
    *,
    ratio_warning: Annotated[
        float,
        Threshold(
            unit="ratio",
            reason="Doubled or halved at once: the measured ratio of a loss that really doubled scatters about 2.",
            source="convention",
        ),
    ] = 1.75,
    tolerance: Annotated[
        float, Threshold(unit="loss", reason="A smaller loss is rounding, whatever it was before.", source="convention")
    ] = 1e-6,
    near_zero: Annotated[
        float,
        Threshold(unit="loss", reason="Small against a normalised advantage, whose size is 1.", source="convention"),
    ] = 0.1,
    min_either_side: Annotated[
        float, Threshold(unit="share", reason="Of the losses on either side of zero: round it.", source="convention")
    ] = 0.25,
    one_sided: Annotated[
        float,
        Threshold(
            unit="share",
            reason="Nine losses in ten of one sign have a level: it can jump or turn round, and is not the noise round zero.",
            source="convention",
        ),
    ] = 0.9,
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
    few = len(loss.finite) < min_points
    leap = None if few else _leap(loss, ratio_warning, tolerance, one_sided)
    reversal = None if few else sign_reversal(loss, one_sided)
    if method in CENTRED and leap is None and reversal is None and _about_zero(loss, near_zero):
        return Expected(
            f"{loss.raw or loss.name} is about 0 by construction: group-relative advantages average to 0 and the "
            "ratio starts at 1, so the loss says nothing about progress; the gradient norm and the reward do"
        )
    learned = trajectory is not None and trajectory.kind in ("rising", "plateau")
    harmed = trajectory is not None and trajectory.lost
    severity, beside = (Severity.WARNING, " and the score fell") if harmed else (Severity.NOTICE, "")
    turned = reversal is not None
    if not learned and reversal is None and not few:
        reversal = sign_reversal(loss)
    stopped = score is None or not rises(score.finite.between(reversal.step if reversal else 0.0))
    if reversal is not None and stopped and reversal.before > tolerance and reversal.after < -tolerance:
        return _finding(
            loss,
            facts.tell(
                "the loss changed its sign from {before} to {after} at {step}{beside}: the updates now push the other way; check "
                "what changed there, and stop if the score falls",
                before=number(reversal.before),
                after=number(reversal.after),
                step=facts.at(loss, reversal.step),
                beside=beside,
            ),
            Severity.WARNING if turned and score is not None else severity,
            reversal.step,
        )
    if leap is not None:
        return _finding(
            loss,
            facts.tell(
                "the size of the loss {moved} at once from {before} to {after} at {step}{beside}: check what changed there in "
                "the data, the learning rate or the scale of the reward",
                moved="rose" if leap.ratio > 1 else "fell",
                before=number(leap.before),
                after=number(leap.after),
                step=facts.at(loss, leap.step),
                beside=beside,
            ),
            severity,
            leap.step,
        )
    if learned:
        return None
    swing = oscillation(loss)
    round_zero = swing is not None and min(swing.positive, 1 - swing.positive) >= min_either_side
    if (
        swing is not None
        and round_zero
        and swing.directionless
        and trajectory is not None
        and trajectory.kind == "flat"
    ):
        source = "the critic" if method is Method.VALUE_BASED else "the advantages"
        return _finding(
            loss,
            facts.tell(
                "the loss oscillates round zero ({mean} on average) and the score is flat: the updates have no common "
                "direction; check {source} before you train longer",
                mean=facts.mean(loss.finite),
                source=source,
            ),
            Severity.NOTICE,
            float(loss.steps[0]),
        )
    return None


def _leap(loss: Series, ratio_warning: float, tolerance: float, one_sided: float) -> Change | None:
    """The first sudden change of the size of the loss, by a factor, that stayed; the dust of a loss that is zero has none."""
    positive = float(np.mean(loss.finite.values > 0))
    if max(positive, 1 - positive) < one_sided:
        return None
    for leap in changes(loss, kinds=("level",), log=True, families=CALMING):
        factor = max(leap.ratio, 1 / leap.ratio)
        if leap.lasting and factor >= ratio_warning and max(leap.before, leap.after) > tolerance:
            return leap
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
