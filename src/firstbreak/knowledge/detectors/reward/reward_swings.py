"""The training reward swings so much that its progress is hard to see.

## What it looks for
The training reward of a run of text: slow waves that go up and down several times (a warning), and noise from step to
step that is large against all that was gained (a notice).

## Why it matters
A reward that swings comes from updates of high variance: each batch pulls the policy another way, and the next one has to
undo it. Learning is slower than it has to be, and the quality of a checkpoint is luck.

## When it is a false alarm
Few prompts per batch of very different difficulty: then the batch swings and not the policy; the evaluation is smooth. A
curriculum whose stages come again.

## Fix
- Use a larger {batch_size}: more prompts in each step, or more completions of each prompt ({group_size}).
- Lower {learning_rate}, or normalise advantages over the batch.
- Read the evaluation instead, and average the reward over an epoch.

## Smallest experiment
Score the same checkpoint on five different batches: if the five rewards differ as much as the curve swings, the batch is too
small; if they agree, the policy swings.

## References
https://github.com/areal-project/AReaL/blob/main/docs/en/best_practices/algo_perf.md
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity, Statistic
from firstbreak.words import number

FAMILIES = only(Policy.TEXT, why="the return of a policy that explores swings with its episodes")


def detect(
    reward_mean: Series,
    *,
    noise_share: float = at(0.7, "share", "Of the gain: one step differs from the next by about all that was gained."),
    min_points: int = at(40, "points", "Fewer rewards show no swings."),
) -> Finding | NotMeasured | None:
    rewards = reward_mean.finite
    if len(rewards) < min_points:
        return NotMeasured(f"{len(rewards)} rewards are too few to see swings (needs {min_points})")
    shape, noise = shape_of(rewards), noise_scale(rewards.values)
    waves = shape.kind == "oscillating"
    parts = [float(np.mean(part)) for part in np.array_split(rewards.values, 8)]
    gain = max(parts) - parts[0]
    if not waves and (noise <= 0 or gain <= 0 or noise < noise_share * gain):
        return None
    how = (
        facts.tell(
            "swings up and down without settling (eight in ten values lie between {low} and {high})",
            low=facts.of(Statistic.QUANTILE, rewards, 0.1),
            high=facts.of(Statistic.QUANTILE, rewards, 0.9),
        )
        if waves
        else facts.tell(
            "fluctuates by {noise} from step to step, and gained {gain}",
            noise=facts.of(Statistic.NOISE, rewards),
            gain=number(gain),
        )
    )
    step = float(rewards.steps[0])
    return Finding(
        message=facts.tell(
            "the training reward {how}: updates of high variance; use a larger batch (more prompts, or more completions of "
            "each), and judge progress by the evaluation",
            how=how,
        ),
        severity=Severity.WARNING if waves else Severity.NOTICE,
        confidence=Confidence.LOW,
        **seen_in(reward_mean, f"noise {number(noise)}", step),
        numbers={"noise": noise, "gain": gain, "waves": waves},
    )
