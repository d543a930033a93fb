"""The reward function returns no number

## What happens
A judge that times out, a parser that fails or a division by 0 makes rewards NaN or leaves them out. Batches without a
reward teach nothing. Where the NaN is not filtered out, the advantages, the loss and then all weights are NaN one step
later.

## When it is healthy
Steps in which no episode ended have no mean reward of an episode.

## Fix
- Find the samples of the first such step, and call the reward function on them.
- Return a number or an explicit "no grade" for every sample, leave the ungraded ones out of the batch, and count them.
- Stop the run when the reward of a batch is no number, and go back to the last checkpoint before the first one.

## Smallest experiment
Run a tenth of the run with a learning rate of nearly 0: rewards that are still missing come from the reward function.

## References
https://huggingface.co/docs/trl/grpo_trainer
"""

from firstbreak.engine.families import Method, without

PRIOR = 0.4
FAMILIES = without(Method.SUPERVISED)
FINDINGS = {
    "completions-without-reward": 0.9,
    "rewards-missing": 0.97,
    "non-finite-values": 0.5,
    "update-skipped": 0.2,
}
EXPERIMENT = "zero-rate"
