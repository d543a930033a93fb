"""The sampler changes the distribution of the policy

## What happens
A stop token that is blocked, a minimum length, a logits processor or a forced prefix: the samples do not follow the policy's
probabilities, so the updates are computed for text that the policy would not have written.

## When it is healthy
Constraints that are part of the task, and that are also applied when the log-probabilities are computed.

## Fix
- Remove penalties of repetition, banned n-grams, logits processors, minimum lengths and forced tokens from the sampler.
- Compare the sampler's log-probabilities with those of the trainer on the same text.

## Smallest experiment
Sample 100 completions with default settings. If they end by themselves, the sampler was the cause.

## References
https://github.com/huggingface/trl/issues/235
"""

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.refutations import drawn_from_the_policy, stored_right_at_first

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
FINDINGS = {
    "samples-edited": 0.6,
    "samples-too-sure": 0.2,
    "ratio-not-one": 0.4,
    "mismatch-growing": 0.7,
    "train-inference-mismatch": 0.7,
    "truncation": 0.6,
    "step-too-large": 0.4,
    "clip-fraction-high": 0.3,
    "update-size-extreme": 0.2,
    "length-runaway": 0.3,
    "importance-weight-off": 0.3,
    "zero-variance-groups": 0.4,
    "score-lost": 0.5,
}
REFUTED_BY = (drawn_from_the_policy, stored_right_at_first)
EXPERIMENT = "same-tokens"
