"""Memory grows with every step

## What happens
The process keeps something that it should drop: tensors with their graph in a list for logging, samples in a cache without
a limit, a buffer that never removes anything. The run goes on as if nothing were wrong, until it is killed.

## When it is healthy
Memory that rises until a replay buffer or a cache is full, and then stays.

## Fix
- Log detached numbers (`float(x)`), never tensors.
- Limit caches and queues, and check which kind of object becomes more frequent with the steps.
- Until the leak is found: save checkpoints often, and restart before the limit is reached.

## Smallest experiment
Run 50 steps with logging, stored samples and evaluation switched off: if the memory stays flat, switch these on one by one.

## References
https://pytorch.org/docs/stable/notes/faq.html
"""

PRIOR = 0.4
FINDINGS = {
    "memory-creep": 0.9,
    "throughput-drop": 0.1,
}
EXPERIMENT = "process-probe"
