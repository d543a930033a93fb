"""Memory grows with every step

## What happens
Something is kept that should be dropped: tensors with their graph in a list for logging, completions in a cache without
a limit, a buffer that never evicts. The run goes on as if nothing were wrong until it is killed.

## When it is healthy
Memory that rises until a replay buffer or a cache is full, and then stays.

## Fix
- Log detached numbers (`float(x)`), never tensors.
- Bound caches and queues; look which object count grows with the steps.
- Until it is found: save checkpoints often, and restart before the limit.

## Smallest experiment
Run 50 steps with logging, samples and evaluation switched off: if memory stays flat, switch them on one by one.

## References
https://pytorch.org/docs/stable/notes/faq.html
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "memory-creep": 0.9,
    "throughput-drop": 0.1,
}
EXPERIMENT = Experiment(
    id="process-probe",
    overrides={"learning_rate": "/10000", "watch": "process"},
    length=0.1,
    measure="memory.cpu",
    if_cause="does memory grow although nothing is learned? yes",
    weight=2.9,
)
