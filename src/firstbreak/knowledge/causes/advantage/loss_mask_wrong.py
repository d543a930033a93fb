"""The mask of the loss does not fit the sampled tokens

## What happens
Prompt, padding or text after the end is trained on, or sampled tokens are left out: the end token, the first one, all but
the last.

## When it is healthy
Training on prompts, or leaving out tool outputs and cut completions, on purpose.

## Fix
- Set the mask to 1 from the first sampled token to the end token, that one included, and to 0 elsewhere.
- Print tokens and mask of one row side by side.

## Smallest experiment
Print tokens and mask of one row of a batch side by side.

## References
https://github.com/huggingface/trl
"""

from firstbreak.engine.families import Policy, only
from firstbreak.engine.refutations import mask_exact, recorded_inside

PRIOR = 0.5
FAMILIES = only(Policy.TEXT)
applies = recorded_inside
FINDINGS = {
    "other-tokens-in-loss": 0.7,
    "sampled-tokens-left-out": 0.6,
    "samples-edited": 0.4,
    "samples-too-sure": 0.2,
    "reference-not-initial": 0.4,
    "ratio-not-one": 0.3,
    "ends-not-sampled": 0.2,
    "score-lost": 0.3,
    "length-runaway": 0.15,
}
REFUTED_BY = (mask_exact,)
EXPERIMENT = "one-prompt"
