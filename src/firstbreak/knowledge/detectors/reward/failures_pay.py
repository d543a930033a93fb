"""Tool calls fail more often, and the reward rises with them.

Looks for: A rate of failed or invalid tool calls that rises by at least `min_increase`, to at least `min_ratio` times
its first level, while the training reward rises or stays at its highest level.
Why: If a failure is graded as success (an exception is read as "done", an empty result equals an empty reference), a
failed call is the cheapest way to the reward, and the policy finds this way.
False alarm: Exploration of new tools early in training: failures come while the policy learns, and then become rare.
Fix:
- Reward the final state of a completion with a failed call, and never the text of the error.
- Read ten rewarded completions that contain a failed call.
Experiment: Let one tool always fail in a batch: its completions must get the reward that they get without the call.
References: https://arxiv.org/abs/2209.13085
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_as, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.direction import departure, falls
from firstbreak.model import Finding, NotMeasured, Series

FAMILIES = only(Policy.TEXT)


def detect(
    reward_mean: Series,
    tool_failure_freq: Series | None = None,
    tool_invalid_frac: Series | None = None,
    *,
    min_increase: float = at(0.03, "share", "A smaller rise of the failure rate is noise of the batch."),
    min_ratio: float = at(2.0, "ratio", "A rate that is high from the start must at least double."),
    min_points: int = at(16, "points", "Fewer points do not show a first level and a later one."),
) -> Finding | NotMeasured | None:
    candidates = (tool_failure_freq, tool_invalid_frac)
    failed = next((s.finite for s in candidates if s is not None and len(s.finite) >= min_points), None)
    rewards = reward_mean.finite
    if failed is None or len(rewards) < min_points:
        return NotMeasured(f"needs {min_points} steps of rewards and of failed tool calls")
    early, late = float(np.median(failed.head(0.15).values)), float(np.median(failed.tail(0.5).values))
    if late < early + min_increase or late < min_ratio * early:
        return None
    onset, interval = departure(failed) or (None, None)
    since = float(failed.steps[0]) if onset is None else onset
    before, after = rewards.between(-np.inf, since).tail(0.3).values, rewards.tail(0.25).values
    if not len(before) or float(np.median(after)) <= float(np.median(before)) or falls(rewards.between(since)):
        return None
    return warning(
        "the share of failed tool calls rose from {early:%} to {late:%} while the reward rose: failed calls are rewarded; "
        "read ten rewarded completions that contain a failed call",
        seen_as(failed.name, onset, interval, {"failed calls": failed, "reward": rewards}),
        early=facts.median(failed.head(0.15)),
        late=facts.median(failed.tail(0.5)),
        numbers={"before": early, "after": late},
    )
