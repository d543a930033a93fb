"""Generation, training or waiting takes more than its share

## What happens
Rollouts are the bottleneck, workers wait, or the phases are unbalanced. The run is slow, data get old, and in the end
the algorithm suffers.

## When it is healthy
Generation that takes most of a step is normal for long completions.

## Fix
- More rollout workers or a faster engine; shorter {max_new_tokens}.
- Balance batch and sequence lengths; overlap generation with training within the staleness bound.

## Smallest experiment
Time one step by phase with half the completion length.

## References
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.6
FINDINGS = {
    "rollout-share": 0.7,
    "long-tail-generation": 0.4,
    "throughput-drop": 0.6,
    "phase-imbalance": 0.6,
    "stale-rollouts": 0.2,
}
EXPERIMENT = Experiment(
    id="process-probe",
    overrides={"learning_rate": "/10000", "watch": "process"},
    length=0.1,
    measure="time.rollout",
    if_cause="does the rollout take longer although the policy stands still? yes",
    weight=2.7,
)
