"""The return falls at once, and no update was large enough to do it.

## What it looks for
A level shift down of the episodes' returns by at least `share` of their level, within a few batches, while the divergence
and the clip fraction of the updates just before it are as they always were.

## Why it matters
A policy that is damaged by its own updates shows it in the update first: a burst of the divergence, of the ratio, of the
gradient. A fall without it came from outside: other dynamics, observations that mean something else, a reset that went
wrong, lost normalisation statistics after a resume.

## When it is a false alarm
A planned curriculum, or a harder level that was switched on.

## Fix
- Compare the environment's version, wrappers and normalisation statistics before and after that step.
- Look at the observations' mean and spread on both sides of it.

## Smallest experiment
Run the checkpoint from before that step in the present environment, without training: if it fails there too, the
environment changed.

## References
https://github.com/DLR-RM/stable-baselines3/issues/870
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.onset import onset
from firstbreak.words import number, percent


def detect(
    writes_text: bool | None = None,
    reward_episode: Series | None = None,
    reward_mean: Series | None = None,
    kl_old: Series | None = None,
    policy_clip_fraction: Series | None = None,
    *,
    share: float = 0.35,
    burst: float = 5.0,
    min_points: int = 30,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text:
        return NotApplicable("the prompts of a batch differ, and so do their rewards")
    returns = next(
        (s.finite for s in (reward_episode, reward_mean) if s is not None and len(s.finite) >= min_points), None
    )
    if returns is None:
        return NotMeasured(f"fewer than {min_points} training returns")
    binned = _binned(returns)
    floor = float(np.min(binned.values))
    logarithm = replace(binned, values=np.log(binned.values - floor + 0.05 * float(np.ptp(binned.values)) + 1e-12))
    shift = onset(logarithm, direction=-1, kinds=("level",))
    if shift is None:
        return None
    before = float(np.median(binned.between(-np.inf, shift.interval[0]).tail(0.3).values))
    after = float(np.median(binned.between(shift.interval[1]).head(0.3).values))
    lost = (before - after) / max(abs(before), abs(after), 1e-12)
    if lost < share or (
        (blamed := _burst((kl_old, policy_clip_fraction), shift.interval[1], burst)) is not None and blamed
    ):
        return None
    return Finding(
        message=(
            f"the return fell from {number(before)} to {number(after)} ({percent(lost)}) at once near step "
            f"{number(shift.step)}, after updates of the usual size: look what changed outside the policy"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if blamed is not None else Confidence.LOW,
        metric=returns.name,
        onset=shift.step,
        interval=shift.interval,
        evidence=(Evidence(text="return", series=returns, since=shift.step),),
        facts={"lost": lost},
    )


def _binned(returns: Series, most: int = 200) -> Series:
    """Mean returns of at most `most` bins of equally many episodes: single episodes are too noisy to date a shift."""
    if len(returns) <= most:
        return returns
    parts = np.array_split(np.arange(len(returns)), most)
    return replace(
        returns,
        steps=np.array([returns.steps[p[0]] for p in parts]),
        values=np.array([returns.values[p].mean() for p in parts]),
    )


def _burst(sizes: tuple[Series | None, ...], until: float, burst: float) -> bool | None:
    """Whether an update up to this step was far larger than usual; None where no size of an update is logged."""
    told = None
    for size in sizes:
        points = size.finite.between(-np.inf, until) if size is not None else None
        if points is None or len(points) < 8:
            continue
        told = bool(told)
        recent, usual = points.values[-4:], points.values[:-4]
        told = told or float(np.max(recent)) > burst * max(float(np.quantile(usual, 0.9)), 1e-6)
    return told
