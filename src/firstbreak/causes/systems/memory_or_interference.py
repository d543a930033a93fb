"""Memory runs out or another process takes the machine

## What happens
Memory creeps towards its limit, or step times jump at regular intervals: a checkpoint upload, a merge, an evaluation
or another user on the same device.

## When it is healthy
Memory that shifts between generation and update; one slow step at a checkpoint.

## Fix
- Find what runs at the period of the slow steps.
- Smaller micro batches or sequence lengths first; then sharding and offloading.

## Smallest experiment
Run 50 steps with checkpoints and evaluations switched off.

## References
https://arxiv.org/abs/1910.02054
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.6
FINDINGS = {
    "memory-creep": 0.7,
    "step-time-spikes": 0.7,
    "throughput-drop": 0.5,
}
EXPERIMENT = Experiment(
    overrides={},
    measure="time.step",
    if_cause="the slow steps disappear",
)
