"""The size of the updates jumps between small and very large.

## What it looks for
Steps in which the clip fraction and the KL divergence from the old policy are both at least `min_ratio` times as large as
usual, again and again, while the score does not rise from there on. Where the age of the data is logged, that says more.

## Why it matters
A policy that is updated on its own data moves about as far in each update. Where updates jump between small and very large,
some batches come from another policy: workers that missed a weight update, or old data in the buffer. The loss can still be
computed and gradients still flow, so that nothing stops.

## When it is a false alarm
A few difficult batches. A learning rate that jumps by its schedule. Small updates at first, and larger ones later, are another
finding.

## Fix
- Log the version of the policy with each sample, and its age at the update.
- Check that every rollout worker receives each update of the weights; drop data of older versions ({max_staleness}).
- Lower {learning_rate} only after that: it hides the reason.

## Smallest experiment
Twenty steps with all workers synchronised before each rollout: if the jumps are gone, old data were the reason.

## References
https://arxiv.org/abs/2505.24298
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.engine.stats.direction import rises
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import quantile
from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    policy_clip_fraction: Series,
    kl_old: Series,
    score: Series | None = None,
    *,
    min_ratio: float = at(3.0, "ratio", "Of the usual size: healthy updates hardly differ by so much."),
    min_clip: float = at(0.15, "share", "Clipping fewer samples than that does no harm."),
    min_share: float = at(0.15, "share", "Of the second half: fewer are single bad batches."),
    max_share: float = at(0.7, "share", "With more of them all updates are too large."),
    min_points: int = at(30, "points", "Fewer updates do not show what is usual."),
) -> Finding | NotMeasured | None:
    clip, kl = policy_clip_fraction.finite, kl_old.finite
    steps, i, j = np.intersect1d(clip.steps, kl.steps, return_indices=True)
    if len(steps) < min_points:
        return NotMeasured(f"{len(steps)} updates with both measures are too few (needs {min_points})")
    clips, kls = clip.values[i], np.abs(kl.values[j])
    usual_clip, usual_kl = quantile(clips, 0.25), quantile(kls, 0.25)
    large = (clips > max(min_clip, min_ratio * usual_clip)) & (kls > min_ratio * usual_kl)
    late = large[len(large) // 2 :]
    share, turns = float(np.mean(late)), int(np.sum(np.diff(late.astype(int)) != 0))
    if not min_share <= share <= max_share or turns < min_share * len(late):
        return None
    since = first_sustained(
        Series(name=clip.name, steps=steps, values=large.astype(float)), lambda v: v > 0, fraction=0.4
    )
    # what the score gained before says nothing of the jumps
    if score is not None and rises(score if since is None or score.axis != clip.axis else score.between(since)):
        return None
    return Finding(
        message=(
            f"in {percent(share)} of the updates of the second half the clip fraction jumps to "
            f"{number(float(np.median(clips[large])))} (usual: {number(usual_clip)}) and the KL divergence with it, and the "
            "score does not rise: some batches come from an older policy; log the age of the data, and check that every "
            "rollout worker receives the new weights"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=clip.name,
        onset=since,
        interval=None if since is None else (since, since),
        evidence=(
            Evidence(text="clip fraction", series=policy_clip_fraction, since=since, level=usual_clip),
            Evidence(text="KL divergence", series=kl_old, since=since, level=usual_kl),
        ),
        numbers={"share": share},
    )
