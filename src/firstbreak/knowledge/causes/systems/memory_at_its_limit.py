"""The memory of the device is nearly full

## What happens
Weights, optimizer states, activations and the cache of the inference engine leave hardly any memory free. The run goes on
until one longer completion, an evaluation or a saved checkpoint needs a little more, and ends in an out-of-memory error.

## When it is healthy
An inference engine that reserves a fixed share of the device at its start. Memory that is full and never peaks.

## Fix
- Reduce the micro batch first, then the sequence length ({max_new_tokens}).
- Switch on gradient checkpointing, and spread the optimizer states over devices (ZeRO, FSDP).
- Give the inference engine a smaller share of the memory, or another device.
- Save checkpoints more often until the peaks are gone.

## Smallest experiment
Run one step with the largest batch that the run will see.

text: It consists of the longest prompts and completions of the data set.

## References
https://arxiv.org/abs/1910.02054
"""

PRIOR = 0.4
FINDINGS = {
    "memory-phase": 0.3,
    "memory-tight": 0.8,
    "memory-peaks": 0.4,
    "memory-creep": 0.3,
}
EXPERIMENT = "process-probe"
