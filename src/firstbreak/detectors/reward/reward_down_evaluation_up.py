"""The training reward falls while the evaluation does not.

## What it looks for
A training reward that ends well below its own earlier level, by more than `share` of it, while the evaluation keeps its
level or rises.

## Why it matters
The policy is as good as before, or better, and is paid less for it: outages of a judge or a tool are graded as failures,
verdicts are lost, a penalty was added. Every such verdict pushes against what was right.

## When it is a false alarm
Harder training problems by plan (a curriculum, filtering of solved prompts), which lower the reward by design.

## Fix
- Count verdicts that are missing, timed out or raised an error, and mask their samples out of the loss.
- Compare the reward of evaluation problems under the training verifier.

## Smallest experiment
Replay twenty completions with reward 0 on a healthy verifier: those that now pass were not the policy's failures.

## References
https://arxiv.org/abs/2505.22203
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.direction import falls
from firstbreak.stats.onset import onset
from firstbreak.words import number


def detect(
    eval_score: Series,
    reward_mean: Series,
    filter_prompts: Series | None = None,
    writes_text: bool | None = None,
    *,
    share: float = 0.2,
    min_points: int = 20,
    min_evaluations: int = 6,
) -> Finding | NotApplicable | NotMeasured | None:
    if not writes_text:
        return NotApplicable("returns of training and evaluation differ in exploration, and so in their course")
    rewards = reward_mean.finite
    if len(rewards) < min_points or len(eval_score) < min_evaluations:
        return NotMeasured(f"needs {min_points} training rewards and {min_evaluations} evaluations")
    windows = [float(np.mean(part)) for part in np.array_split(rewards.values, 8)]
    best, late = max(windows), float(np.mean(windows[-2:]))
    room = best - float(np.min(rewards.values))
    if room <= 0 or best - late < share * max(abs(best), room) or not _keeps(eval_score):
        return None
    began = onset(rewards, direction=-1)
    if began is None and not falls(rewards):
        return None
    return Finding(
        message=(
            f"the training reward fell from {number(best)} to {number(late)} while the evaluation kept its level: the "
            "policy is paid less for the same; count missing and failed verdicts"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=rewards.name,
        onset=began.step if began else None,
        interval=began.interval if began else None,
        evidence=(Evidence(text="training reward", series=rewards), Evidence(text="evaluation", series=eval_score)),
        facts={"before": best, "after": late},
    )


def _keeps(evaluation: Series) -> bool:
    """The last evaluations are no worse than the median of all before them."""
    n = max(2, len(evaluation) // 4)
    return float(np.mean(evaluation.values[-n:])) >= float(
        np.max([np.median(evaluation.values[:-n]), evaluation.values[0]])
    )
