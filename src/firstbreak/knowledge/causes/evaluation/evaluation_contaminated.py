"""The training data contain problems of the evaluation

## What happens
The model memorises answers. The score rises with the training reward, and says nothing about new problems.

## When it is healthy
Both rise, and the score is as high on problems that were collected after training.

## Fix
- Search the training set for the evaluation's prompts, for exact and for near copies.
- Keep a private test set that is used for no decision.

## Smallest experiment
Evaluate on fresh problems of the same kind.

## References
https://arxiv.org/abs/2311.04850
"""

from firstbreak.engine.families import Policy, only

PRIOR = 0.2
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS: dict[str, float] = {}  # no curve shows it: overlap of the texts does
EXPERIMENT = "data-probe"
