"""The rollout takes nearly all of a step, or a larger and larger share.

## What it looks for
The time of the rollout as a share of the whole step: its growth compared with the first half of the run, and its level at
the end.

## Why it matters
The update waits for the slowest rollout. A share that grows says that completions get longer, that tools or environments
get slower, or that workers are lost. The share grows before any learning curve changes.

## When it is a false alarm
Generation token by token is slow by nature and takes most of a step in most set-ups, and so does a simulator on the
CPU. In asynchronous training the rollout overlaps with the update, and then the share says little.

## Fix
- Compare the longest with the mean completion: if a few long completions hold up the batch, lower {max_new_tokens} or
  overlap generation with training.
- Give the inference engine more memory for its cache, and more concurrent requests.
- Set a timeout for environments and tools.

## Smallest experiment
Generate one batch with half of {max_new_tokens}: if the time halves, the length is the bottleneck. If the time does not
halve, check the engine or the environment.

## References
https://verl.readthedocs.io/en/latest/perf/perf_tuning.html
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from collections.abc import Mapping

from firstbreak.engine.checks import at
from firstbreak.engine.families import Method, Policy, without
from firstbreak.knowledge.detectors.systems._shares import share, step_time, takes_over
from firstbreak.model import Finding, NotMeasured, Series

FAMILIES = without(Method.SUPERVISED)


def detect(
    time_rollout: Series,
    time: Mapping[str, Series],
    policy: Policy = Policy.TEXT,
    *,
    min_increase: float = at(0.2, "share", "Of a step: a fifth more than before."),
    high: float = at(
        0.75, "share", "Generation and simulation are slow by nature, and take two thirds of a step in many set-ups."
    ),
    max_p_value: float = at(0.01, "probability", "A break that is less probable by chance is certain."),
    min_points: int = at(12, "points", "Fewer steps show no growth."),
) -> Finding | NotMeasured | None:
    whole = step_time(time)
    if whole is None:
        return NotMeasured("the time of a step is not logged")
    where = (
        "compare the longest with the mean completion, then check the speed of the inference engine"
        if policy is Policy.TEXT
        else "profile a step of the environment, and try more environments side by side"
    )
    return takes_over(
        share(time_rollout, whole),
        f"the rollout {{taken}} and is its bottleneck; {where}",
        "the rollout takes longer than the step: the two overlap, or are measured differently",
        metric="time.rollout",
        high=high,
        min_increase=min_increase,
        max_p_value=max_p_value,
        min_points=min_points,
    )
