"""Gradients overflow, and steps are skipped

## What happens
Half precision or a masked logarithm of 0 makes a gradient infinite, and the optimizer skips the step. The more steps are
skipped, the less is learned, and the loss does not show this.

## When it is healthy
A few skipped steps while a dynamic loss scale settles.

## Fix
- Look for a logarithm of 0 and a division by a spread of 0: add a small constant.
- In 16-bit training ({precision}), use bf16 instead of fp16, or a lower loss scale.
- text: Clamp log-probabilities, and check for rows that are fully masked.
- control: Check observations, rewards and normalisation statistics for NaN and infinity.

## Smallest experiment
Run a tenth of the run with a learning rate of nearly 0: gradients that are still not finite do not come from large steps.
Then repeat a skipped update in fp32: if the gradient is finite there, the number format was the cause.

## References
https://arxiv.org/abs/1710.03740
"""

PRIOR = 0.8
FINDINGS = {
    "tensor-not-finite": 0.9,
    "update-skipped": 0.9,
    "non-finite-values": 0.6,
    "grad-norm-explosion": 0.3,
    "reward-flat": 0.3,
    "score-lost": 0.2,
    "truncation": 0.25,  # weights that are NaN write one and the same token up to the limit, whatever the prompt
    "zero-variance-groups": 0.25,
}
EXPERIMENT = "process-probe"
