"""The baseline mixes completions of different prompts

## What happens
Rewards are compared across prompts instead of within one, so an easy prompt's completions all look good. Within a
prompt the advantages no longer cancel.

## When it is healthy
Batch-level normalisation on purpose, with a baseline per prompt before it.

## Fix
- Check the index that assigns completions to prompts, after every shuffle and filter.
- The mean advantage of each prompt must be 0.

## Smallest experiment
Print the group ids beside the prompts of one batch.

## References
https://github.com/PeterGriffinJin/Search-R1/pull/88
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.6
FINDINGS = {
    "advantages-not-centred": 0.9,
    "score-lost": 0.4,
    "reward-flat": 0.1,
}
EXPERIMENT = Experiment(
    id="one-prompt",
    overrides={"data": "one"},
    length=0.1,
    measure="advantage.mean",
    if_cause="does the training reward rise? yes",
    weight=0.6,
)


def applies(inputs: Inputs) -> bool:
    """Only groups of completions per prompt."""
    return bool(inputs.get("family") == "group")
