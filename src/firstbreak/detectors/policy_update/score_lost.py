"""The score was better before than it is now.

## What it looks for
A score that rose (or began high), and then fell beyond its noise and stayed down: how much of the gain is lost, where
the best level was, and since when it falls. Where a reward goes nowhere in its noise, the share of right answers is
looked at in its place, if it is logged; where a few evaluations show no course, what training earns is, and a loss of
`grave` of it is a warning.

## Why it matters
If the model was better earlier, going on is actively harmful: the best version is already on disk, and every step
leads away from it.

## When it is a false alarm
A dip that recovers: in fewer than `few` points none can be told from a loss, so a loss is no more than a warning there.
An evaluation of few episodes. A curriculum or a harder stage that begins at that step. A loss of less
than `material` of the score's own size, which is a wobble however clear it is; for a likelihood `perplexity`, since every
second pass over supervised data costs a little of the held-out loss. Where the log begins in mid-run, the gain
is not in it, and the loss counts as a share of the level instead. Less than `grave` of the gain is what sound runs go down
and up by between two looks, and says little: no fault of the lab took less than half of it.

## Fix
- Stop, and go back to the checkpoint nearest the best evaluation.
- Lower {learning_rate}, or decay it to 0 over the run; fewer {epochs_per_batch}; a target for the divergence.
- For off-policy methods: look at the critic first (value loss, target network, replay size).

## Smallest experiment
Continue from the best checkpoint with {learning_rate} divided by ten for a tenth of the run: a score that holds
speaks for steps that were too large.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors._start import continued
from firstbreak.model import Confidence, Evidence, Finding, Series, Severity
from firstbreak.stats.direction import fall_from_best
from firstbreak.stats.shape import Trajectory
from firstbreak.stats.shape import trajectory as shape_of
from firstbreak.words import number, percent

SAYS_NOTHING = frozenset({"flat", "oscillating", "too_short"})  #: shapes of a few noisy evaluations


def detect(
    score: Series,
    trajectory: Trajectory,
    supervised: bool = False,
    reward_accuracy: Series | None = None,
    reward_mean: Series | None = None,
    *,
    grave: float = 0.4,
    few: int = 10,
    material: float = 0.02,
    perplexity: float = 0.05,
) -> Finding | None:
    only_training = False
    if trajectory.kind == "flat" and (answers := _lost(reward_accuracy, few)) is not None:
        score, trajectory = answers
    elif (
        trajectory.kind in SAYS_NOTHING
        and score.name.startswith("eval.")
        and (earned := _lost(reward_mean, few, grave))
    ):
        (score, trajectory), only_training = earned, True
    little = perplexity if supervised else material
    if not trajectory.lost or trajectory.drop < little * max(abs(trajectory.best), abs(trajectory.end)):
        return None
    whole = abs(trajectory.best) if continued(score) else 0.0  # the gain of a longer run is not in this log
    lost = trajectory.drop / whole if whole else trajectory.drop_fraction
    since, interval = fall_from_best(score)
    what = "level" if whole else "gain"
    how_much = f"{percent(lost)} of its {what}" if np.isfinite(lost) and lost <= 1 else f"all of its {what} and more"
    large = lost >= grave
    sure = large and trajectory.n >= few and not only_training
    return Finding(
        message=(
            f"{score.name} was {number(trajectory.best)} at step {number(trajectory.best_step)} and is "
            f"{number(trajectory.end)} now: {how_much} is lost; go back to that checkpoint before changing anything"
        ),
        severity=Severity.CRITICAL if sure else Severity.WARNING,
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM if large else Confidence.LOW,
        metric=score.name,
        onset=since,
        interval=interval,
        evidence=(Evidence(text="score", series=score, since=since, level=trajectory.best),),
        facts={"lost": lost, "kind": trajectory.kind},
    )


def _lost(beside: Series | None, few: int, part: float = 0.0) -> tuple[Series, Trajectory] | None:
    """Another measure of success and its course, where at least this part of its gain was lost.

    The share of right answers is hidden in the noise of a reward, and what training earns in that of a few evaluations.
    """
    if beside is None or len(beside.finite) < few:
        return None
    course = shape_of(beside.finite)
    enough = not part or (np.isfinite(course.drop_fraction) and course.drop_fraction >= part)  # no gain: a warm start
    return (beside.finite, course) if course.lost and enough else None
