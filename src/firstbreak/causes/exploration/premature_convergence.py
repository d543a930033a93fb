"""The policy became certain too early

## What happens
Entropy falls to nearly 0 before the task is solved. All trajectories look alike, advantages vanish, and no gradient
brings the alternatives back.

## When it is healthy
Entropy that falls because the task is solved; a fine-tuned model that starts with little of it.

## Fix
- Go back to before the fall; raise {entropy_coef} or {temperature}.
- Lower {learning_rate}; let unlikely actions recover with a higher {clip_range_high}.
- Check that rollouts are sampled and not greedy.

## Smallest experiment
Resume from before the onset with {entropy_coef} times ten for a tenth of the run.

## References
https://arxiv.org/abs/2505.22617
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 1.2
FINDINGS = {
    "entropy-penalised": 0.2,
    "entropy-collapse": 0.95,
    "reward-flat": 0.5,
    "outputs-alike": 0.4,
    "score-lost": 0.35,
    "zero-variance-groups": 0.3,
    "far-from-known-score": 0.3,
}
EXPERIMENT = Experiment(
    id="more-entropy",
    overrides={"entropy_coef": 0.01},
    length=0.075,
    measure="policy.entropy",
    if_cause="is the score better? yes",
    weight=2.3,
)
