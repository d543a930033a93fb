"""The score never leaves its first level.

## What it looks for
A score whose shape is flat from the first points to the last: no rise, no fall, only noise, and no line through it that
certainly rises (a slow learner may reach no new level before the end). The finding says how large a rise could still
hide in the noise: it is critical only where one of `resolvable` standard deviations would have shown, and of low
confidence where even one of `telling` would not. An exploration rate tells more than the noise hides: while it was high
the log shows what random actions score, and if the greedy ones that followed score the same, nothing was learned.

## Why it matters
This is how a break anywhere in the loop looks from outside. What to do depends on which of the other links is broken,
so this finding never stands alone: it is the outcome that the others have to explain.

## When it is a false alarm
Late starters: a hard exploration problem can be flat for a third of the run and then rise. A score that starts at its
ceiling has nowhere to go. A learning rate that is still being warmed up at the last step has hardly moved the policy.
An evaluation that begins after the learning: the training reward then rises before it. A log that begins in mid-run says
nothing of what was learned before it, and is left alone.

## Fix
- Look at the other findings first: a flat score is a symptom.
- Evaluate the untrained policy: if it already scores the same, nothing was learned; if less, the curve began too
  late.
- Train on ten easy prompts (or an easier task): if that does not rise either, the loop is broken, not the data.

## Smallest experiment
Replace the reward by one that is trivially easy (output length, a constant action): it must rise within 20 updates.

## References
https://andyljones.com/posts/rl-debugging.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors._start import continued
from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import rises
from firstbreak.stats.shape import Trajectory
from firstbreak.stats.trend import trend
from firstbreak.words import number

RANDOM, GREEDY = 0.5, 0.2  #: exploration rate: mostly random actions, mostly the policy's own
FEW = 5  #: points that show what random actions score
ROUNDING = 1e-3  #: of a score's size: what moves less is constant, as the last digits of a repeated evaluation are


def detect(
    score: Series,
    trajectory: Trajectory,
    solved: bool | None = None,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    lr: Series | None = None,
    epsilon: Series | None = None,
    *,
    resolvable: float = 0.5,
    telling: float = 2.0,
    min_points: int = 10,
) -> Finding | Expected | NotMeasured | None:
    if len(score) < min_points:
        return NotMeasured(f"{len(score)} scores are too few to call a curve flat (needs {min_points})")
    size = float(np.max(np.abs(score.values)))
    constant = float(np.ptp(score.values)) <= ROUNDING * size
    acting = [reward_mean, reward_episode] if score.name.startswith("eval.") else [score]  # evaluations do not explore
    explored = next((s.finite for s in acting if s is not None and len(s.finite)), None)
    random = epsilon is not None and explored is not None and _no_better_than_random(explored, epsilon.finite)
    flat = trajectory.kind == "flat" or constant or (random and trajectory.kind == "oscillating")
    if not flat or solved:
        return None
    if constant and score.values[0] > 0:
        return NotMeasured(f"the score is {number(trajectory.start)} throughout: floor and ceiling look the same")
    if continued(score):
        return NotMeasured(
            f"the log begins at step {number(float(score.steps[0]))}: what was learned before is not in it"
        )
    training = [s.finite for s in (reward_mean, reward_episode) if s is not None and s.name != score.name]
    if any(rises(s) for s in training):
        return Expected(
            f"{score.name} is flat because it begins after the learning: the training reward rises before it"
        )
    if lr is not None and _warming_up(lr.finite):
        return NotMeasured("the learning rate is still being warmed up at the last step: nothing can have been learned")
    line = trend(score)
    if line.rising:
        return None
    most = max(abs(v) for v in line.interval) * float(np.ptp(score.steps))
    hidden = most / line.noise if line.noise > 0 else 0.0
    sure = line.noise > 0 and hidden < resolvable
    could = f"a rise of up to {number(most)} could hide in the noise" if hidden and not constant else "it is constant"
    if random:
        could = "its greedy actions score what random ones did"
    return Finding(
        message=(
            f"{score.name} stays at {number(float(np.median(score.values)))} for all {len(score)} points ({could}): "
            "nothing was learned; look which link upstream gives no signal"
        ),
        severity=Severity.CRITICAL if sure else Severity.WARNING,
        confidence=Confidence.HIGH if sure or random else Confidence.MEDIUM if hidden < telling else Confidence.LOW,
        metric=score.name,
        onset=float(score.steps[0]),
        interval=(float(score.steps[0]), float(score.steps[min(len(score) - 1, len(score) // 10)])),
        evidence=(Evidence(text="score", series=score, level=trajectory.start),),
        facts={"hidden": hidden},
    )


def _no_better_than_random(score: Series, epsilon: Series) -> bool:
    """The mean score of a policy that explores little lies within the noise of what random actions scored.

    Asked once half of the log is greedy: the evidence is a long time without randomness, not the end of a schedule.
    """
    if score.axis != epsilon.axis or not len(epsilon):
        return False
    rate = np.interp(score.steps, epsilon.steps, epsilon.values)
    random, greedy = score.values[rate >= RANDOM], score.values[rate <= GREEDY]
    if len(random) < FEW or 2 * len(greedy) < len(score):
        return False
    return bool(np.mean(greedy) <= np.mean(random) + 2 * np.std(random))


def _warming_up(lr: Series) -> bool:
    """The rate has risen from next to nothing, point by point, to the end."""
    values = lr.values
    rising = len(values) >= 5 and bool(np.all(np.diff(values) >= 0))
    return rising and bool(values[0] < 0.2 * values[-1] and values[-1] > np.median(lr.tail(0.2).values))
