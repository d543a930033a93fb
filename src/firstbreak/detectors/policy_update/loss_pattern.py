"""The policy loss shows no direction, turns round, or jumps.

## What it looks for
Four patterns of the policy gradient loss: a calm or slowly shrinking size (in order); oscillation round zero without
a consistent sign; a sign that was positive and becomes negative for good; a sudden doubling or halving of its size.

## Why it matters
The loss is the last thing before the optimiser. A turn or a jump says that something changed abruptly: the data, the
learning rate, the scale of the advantages.

## When it is a false alarm
With normalised or group-relative advantages the loss is about 0 by construction, and its sign means nothing: that is
reported as expected. A rising score clears the other patterns.

## Fix
- Find out what changed at that step: data stage, learning-rate schedule, reward scale, a resumed run.
- If there is no direction and the score is flat, stop: the updates are noise.

## Smallest experiment
Repeat the updates around the jump from the last checkpoint with the same seed: a jump that comes back is in the data,
one that does not was numerical.

## References
https://arxiv.org/abs/2005.12729
"""

from __future__ import annotations

from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.oscillation import magnitude_jump, oscillation, sign_reversal
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number

CENTRED = frozenset({"group"})

DUST = 1e-6  #: a loss below it is rounding, whatever it was before


def detect(
    config: Config,
    policy_loss: Series | None = None,
    loss_total: Series | None = None,
    family: str | None = None,
    trajectory: Trajectory | None = None,
    *,
    jump: float = 3.0,
    min_points: int = 20,
) -> Finding | Expected | NotMeasured | None:
    loss = policy_loss if policy_loss is not None else loss_total if family in ("group", "on_policy") else None
    if loss is None:
        return NotMeasured("no policy loss is logged")
    if len(loss.finite) < min_points and family not in CENTRED:
        return NotMeasured(f"{len(loss.finite)} losses are too few to see a pattern (needs {min_points})")
    if family in CENTRED and _about_zero(loss):
        return Expected(
            f"{loss.raw or loss.name} is about 0 by construction: group-relative advantages average to 0 and the "
            "ratio starts at 1, so the loss says nothing about progress; the gradient norm and the reward do"
        )
    harmed = trajectory is not None and trajectory.lost
    reversal = sign_reversal(loss)
    if reversal is not None and reversal.before > 0 > reversal.after and harmed:
        return _finding(
            loss,
            f"the loss turned from {number(reversal.before)} to {number(reversal.after)} at step "
            f"{number(reversal.step)} and the score fell: the updates now push the other way; stop and look what "
            "changed there",
            Severity.WARNING,
            reversal.step,
        )
    leap = magnitude_jump(loss, factor=jump)
    if leap is not None and harmed and leap.after > DUST:
        return _finding(
            loss,
            f"the size of the loss jumped from {number(leap.before)} to {number(leap.after)} at step "
            f"{number(leap.step)}: look what changed in data, schedule or reward scale there",
            Severity.WARNING,
            leap.step,
        )
    swing = oscillation(loss)
    if swing is not None and swing.p > 0.05 and trajectory is not None and trajectory.kind == "flat":
        return _finding(
            loss,
            f"the loss oscillates round zero ({number(swing.mean)} on average) and the score is flat: the updates "
            "have no common direction; check the advantages before training longer",
            Severity.NOTICE,
            float(loss.steps[0]),
        )
    return None


def _about_zero(loss: Series) -> bool:
    """Small against the unit size of a normalised advantage."""
    values = loss.finite.values
    return bool(len(values)) and abs(float(values.mean())) < 0.1


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
