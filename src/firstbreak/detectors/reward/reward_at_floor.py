"""Nearly every reward is the worst possible one.

## What it looks for
A score that sits at its lowest value for almost the whole run, with rare points above it: the share of points within
a twentieth of the range above the floor, or a success rate that stays near 0.

## Why it matters
A policy gradient needs differences. If 99 % of the trajectories get the floor, the update sees silence, and the few
lucky ones are too rare to be followed.

## When it is a false alarm
The first part of a hard task. A score that began above its floor and fell to it: that goal was reached, and lost. A
score whose floor is its normal level because the range is stretched by one outlier. A constant positive score may as well
be the ceiling, and is left alone. Success that is still to come, while the reward rises towards it. A greedy evaluation
stays at the floor while the policy that explores already rises from it in training: the goal is then found.

## Fix
- Easier starts or prompts, a curriculum, partial credit on the way to the goal.
- More exploration ({entropy_coef}, {temperature}), hindsight relabelling, or demonstrations.
- Check that success can be reached at all: a scripted expert, or a correct answer put through the verifier.

## Smallest experiment
Put a known-good trajectory or answer through the same reward code: if it also gets the floor, the reward is broken;
if not, it is only never found.

## References
https://arxiv.org/abs/1707.01495
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import rises
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent


def detect(
    score: Series,
    trajectory: Trajectory,
    success_rate: Series | None = None,
    eval_success_rate: Series | None = None,
    eval_reward: Series | None = None,
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    episode_length: Series | None = None,
    *,
    most: float = 0.75,
    rare_success: float = 0.1,
    few: int = 5,
    min_points: int = 20,
) -> Finding | NotMeasured | None:
    if trajectory.learned or trajectory.lost:
        return None  # it has been above its floor: what happened later is another finding
    rates = [s.finite for s in (eval_success_rate, success_rate) if s is not None and len(s.finite) >= min_points]
    if len(score) < min_points and not rates:
        return NotMeasured(f"{len(score)} scores are too few to know the floor (needs {min_points})")
    if rates:
        rate = rates[0]
        late = float(np.mean(rate.tail(0.5).values))
        if late > rare_success or any(s is not None and rises(s) for s in (eval_reward, reward_mean)):
            return None
        return _finding(rate, f"success rate is {percent(late)} over the second half of the run", 1 - late)
    if score.axis == "env_steps" and episode_length is not None and len(episode_length.finite):
        ended = float(score.steps[-1] / np.median(episode_length.finite.values))
        if ended < few:  # a mean over recent episodes is written again and again while none ends
            return NotMeasured(f"about {number(ended)} episodes have ended (needs {few})")
    second_half = score.tail(0.5)
    low, high = float(score.values.min()), float(score.values.max())
    if low == high > 0:
        return NotMeasured(f"the score is {number(low)} throughout: floor and ceiling look the same")
    floor = low + 0.05 * (high - low)
    share = float(np.mean(second_half.values <= floor))
    fell = bool(np.all(score.values[:few] > floor))
    if (
        share < most
        or fell
        or any(s is not None and s.name != score.name and rises(s) for s in (reward_mean, reward_episode))
    ):
        return None
    return _finding(score, f"{percent(share)} of the scores are at the floor of {number(low)}", share)


def _finding(curve: Series, what: str, share: float) -> Finding:
    return Finding(
        message=f"{what}: the goal is hardly ever reached; put a known-good answer through the reward first",
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        metric=curve.name,
        onset=float(curve.steps[0]),
        interval=(float(curve.steps[0]), float(curve.steps[0])),
        evidence=(Evidence(text="score", series=curve, level=float(curve.values.min())),),
        facts={"share": share},
    )
