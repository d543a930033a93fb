"""Episodes end at once, or never end by themselves, and the score does not move.

## What it looks for
The length of the episodes beside the shape of the score: a length of one or two steps over the last quarter, or
exactly the same length in every episode of the run while the score stays where it began.

## Why it matters
An episode that ends at once holds no behaviour to learn from: a wrong termination flag, a reset that leaves the
environment done, or a policy that fails on its first action. Episodes that only ever end at the time limit say that
no goal was reached and no failure was made, so nothing tells good from bad.

## When it is a false alarm
The task has one step (a bandit, one answer to one prompt), or a fixed length by design (HalfCheetah, Pendulum). In
both the score moves, by more than `material` of its size, and then this is silent. A short episode is the aim (reach
the goal fast).

## Fix
- Step the environment by hand with random actions and print terminated, truncated and the length.
- Look which condition ends the episode, and whether the reset state already fulfils it.
- Where episodes never end: check that the goal can be reached at all, then shape the reward or start nearer to the
  goal.

## Smallest experiment
Run 20 episodes with random actions and 20 with a hand-written policy. If both have the same length and the same
return, the fault lies in the environment, not in training.

## References
https://gymnasium.farama.org/tutorials/gymnasium_basics/handling_time_limits/
https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html
https://arxiv.org/abs/1712.00378
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number


def detect(
    score: Series,
    trajectory: Trajectory,
    episode_length: Series | None = None,
    writes_text: bool | None = None,
    solved: bool | None = None,
    *,
    immediate: float = 2.0,
    material: float = 0.02,
    min_points: int = 8,
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    if episode_length is None and writes_text:
        return NotApplicable("no episodes: the policy writes text")
    if episode_length is None:
        return NotMeasured("the length of episodes is not logged")
    lengths = episode_length.finite
    if len(lengths) < min_points or trajectory.kind == "too_short":
        return NotMeasured(f"{len(lengths)} lengths and {len(score)} scores are too few (needs {min_points})")
    early, late = (float(np.median(part.values)) for part in (lengths.head(0.25), lengths.tail(0.25)))
    constant = float(np.ptp(lengths.values)) == 0
    if late > immediate and not constant:
        return None
    gained = trajectory.learned and trajectory.gain >= material * max(abs(trajectory.start), abs(trajectory.best))
    if solved or (gained and not trajectory.lost):
        return Expected(
            f"episodes last {number(late)} steps by the nature of the task: the score gained {number(trajectory.gain)}"
        )
    if late <= immediate:
        return _at_once(episode_length, score, early, late, immediate)
    return _never(episode_length, score, late) if trajectory.kind == "flat" else None


def _at_once(lengths: Series, score: Series, early: float, late: float, immediate: float) -> Finding:
    fell = early > immediate
    onset = first_sustained(lengths, lambda values: values <= immediate)
    return Finding(
        message=(
            f"episodes end after {number(late)} steps{f' ({number(early)} at first)' if fell else ''} and the score "
            "does not improve; step the environment by hand and look what ends the episode"
        ),
        severity=Severity.CRITICAL if fell else Severity.WARNING,
        confidence=Confidence.HIGH if fell else Confidence.MEDIUM,
        metric="episode.length",
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=(
            Evidence(text=f"episode length {number(late)}", series=lengths, since=onset, level=immediate),
            Evidence(text="score", series=score),
        ),
        facts={"length": late, "fell": fell},
    )


def _never(lengths: Series, score: Series, length: float) -> Finding:
    rewarded = float(np.ptp(score.values)) > 0
    onset = float(lengths.steps[0])
    return Finding(
        message=(
            f"every episode lasts exactly {number(length)} steps and the score has "
            f"{'not left its first level' if rewarded else 'never changed'}: no episode reached a goal or failed; "
            "check by hand that the goal can be reached, then make the reward denser"
        ),
        severity=Severity.NOTICE if rewarded else Severity.WARNING,
        confidence=Confidence.LOW if rewarded else Confidence.MEDIUM,
        metric="episode.length",
        onset=onset,
        interval=(onset, onset),
        evidence=(
            Evidence(text=f"always {number(length)} steps", series=lengths, level=length),
            Evidence(text="score", series=score),
        ),
        facts={"length": length, "fell": False},
    )
