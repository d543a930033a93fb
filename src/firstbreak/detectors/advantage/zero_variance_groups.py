"""Groups in which every reward is the same carry no training signal.

## What it looks for
The share of prompt groups whose completions all got the same reward: its mean over the last part of the run, and the
step from which it stays above `most`. Where only the group spread is logged, a spread of exactly 0 counts as such a
step.

## Why it matters
A group-relative advantage is the reward minus the group's mean. Where all rewards of a group are equal it is 0, the
group adds nothing to the gradient, and the batch shrinks by that group without anyone being told.

## When it is a false alarm
The task is solved: groups are all right, and the score is at its ceiling. While the score rises, the groups that are left
are enough: then it is a waste, not a break. Dynamic sampling drops such groups on
purpose; then the share counts what was dropped, not what was trained on.

## Fix
- All wrong: easier prompts, a longer {max_new_tokens}, partial credit, or supervised warm-up first.
- All right: harder prompts.
- A larger {group_size}: with success rate p, a share p^G + (1-p)^G of the groups is silent.
- Filter such groups ({dynamic_sampling}).

## Smallest experiment
Sample one batch of prompts with four times the group size: if the share does not fall, the reward cannot tell the
completions apart; if it does, the groups are too small.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/3857
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent

TOP = 0.8  #: of the rewards' range
ENOUGH = 8  #: with fewer points than this the share is an anecdote


def detect(
    silent_groups: Series,
    reward_mean: Series | None = None,
    reward_min: Series | None = None,
    reward_max: Series | None = None,
    solved: bool | None = None,
    trajectory: Trajectory | None = None,
    *,
    some: float = 0.5,
    most: float = 0.8,
) -> Finding | Expected | None:
    late = silent_groups.tail(0.5).finite
    share = float(np.mean(late.values)) if len(late) else 0.0
    if share < some:
        return None
    if solved:
        return Expected(f"{percent(share)} of the groups have equal rewards because the score is at its ceiling")
    onset = first_sustained(silent_groups, lambda values: values >= some)
    few = len(silent_groups) < ENOUGH
    learns = trajectory is not None and trajectory.learned and not trajectory.lost
    severity = Severity.CRITICAL if share >= most else Severity.WARNING
    place = _place(reward_mean, reward_min, reward_max)
    if (
        learns or place == "right"
    ):  # wasteful, but enough groups are left to learn from, or there is little left to learn
        severity = Severity.WARNING if share >= most and place != "right" else Severity.NOTICE
    look = {
        "right": "they are mostly all right: take harder prompts",
        "wrong": "they are mostly all wrong: take easier prompts, or look at the verifier",
        "": "look whether they are all right or all wrong, then change the prompts or the group size",
    }[place]
    return Finding(
        message=(f"{percent(share)} of the groups have no reward spread, so they teach nothing; {look}"),
        severity=severity,
        confidence=Confidence.LOW if few else Confidence.HIGH if share >= most else Confidence.MEDIUM,
        metric=silent_groups.name,
        onset=onset,
        interval=None if onset is None else (onset, onset),
        evidence=(
            Evidence(
                text=f"silent groups, {number(share)} on average at the end",
                series=silent_groups,
                since=onset,
                level=most,
            ),
            *([Evidence(text="mean reward", series=reward_mean)] if reward_mean is not None else []),
        ),
        facts={"share": share},
    )


def _place(mean: Series | None, lowest: Series | None, highest: Series | None) -> str:
    """ "right" or "wrong" where the mean reward lies near the top or the bottom of the rewards' range, else ""."""
    if mean is None or lowest is None or highest is None or not min(len(s.finite) for s in (mean, lowest, highest)):
        return ""
    low, high = float(lowest.finite.values.min()), float(highest.finite.values.max())
    if high <= low:
        return ""
    place = (float(np.mean(mean.finite.tail(0.5).values)) - low) / (high - low)
    return "right" if place >= TOP else "wrong" if place <= 1 - TOP else ""
