"""Rollouts are sampled too cold to explore

## What happens
At a low temperature the completions of a prompt are nearly equal. Groups have equal rewards, and nothing is learned. What
little signal there is makes the policy more certain of what it already does.

## When it is healthy
A solved task, whose completions are equal because they are right. A low temperature in evaluation only.

## Fix
- Set {temperature} to 1 for rollouts, and keep the low temperature for evaluation.
- group_relative: If you want a lower temperature, raise {group_size} as well.

## Smallest experiment
Train for a tenth of the run with {temperature} = 1: if the score is better, sampling was too cold. Also sample one prompt
32 times at {temperature} = 1 and as before, and count distinct answers.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/3857
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Policy, only
from firstbreak.engine.refutations import sampled_at_one

PRIOR = 0.4
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "samples-too-sure": 0.3,
    "sampling-narrow": 0.8,
    "training-above-evaluation": 0.6,
    "zero-variance-groups": 0.8,
    "entropy-collapse": 0.2,
    "reward-flat": 0.3,
    "outputs-alike": 0.2,
}
SETTINGS = {"temperature": Side.LOW}
REFUTED_BY = (sampled_at_one,)
EXPERIMENT = "plain-sampling"
