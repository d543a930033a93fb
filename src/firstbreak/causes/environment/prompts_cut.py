"""The prompts are cut before the model sees the question

## What happens
Prompts longer than the limit lose their beginning or their end. The model answers a question that it was not asked,
and the reward cannot tell why.

## When it is healthy
A few long prompts in a set that is short otherwise.

## Fix
- Raise {max_prompt_tokens}, or filter long prompts.
- Print ten prompts as the model gets them, decoded.

## Smallest experiment
Score 50 of the cut prompts with the limit lifted: if the mean score rises, the cut was the break.

## References
https://github.com/huggingface/trl/issues/5697
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.3
FINDINGS = {
    "prompt-truncation": 0.95,
    "reward-flat": 0.4,
    "zero-variance-groups": 0.3,
}
EXPERIMENT = Experiment(
    id="data-probe",
    overrides={"watch": "data"},
    length=0.1,
    measure="reward.mean",
    if_cause="do training prompts have another form than the evaluation's? yes",
    weight=3.0,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
