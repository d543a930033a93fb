"""The reward pays for form and not for the answer

## What happens
Format, language or style parts of the reward can be earned without a right answer. The policy earns them, the total
rises, and the part that checks the answer never moves.

## When it is healthy
Form first and answers later is a normal order, as long as the answer part begins to move.

## Fix
- Read the best-rewarded completions of the latest checkpoint.
- Put a right answer in the required form through the answer check: does it earn its reward?
- Gate the parts for form on a right answer, or lower their weight.

## Smallest experiment
Train 30 steps on the answer part alone: if it does not move either, the answer is never extracted or never right.

## References
https://arxiv.org/abs/2209.13085
https://github.com/huggingface/open-r1/issues/373
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 1.2
FINDINGS = {
    "wrong-answers-paid": 0.5,
    "reward-proxy-only": 0.7,
    "reward-up-evaluation-down": 0.5,
    "zero-variance-groups": 0.3,
}
EXPERIMENT = Experiment(
    id="reward-probe",
    overrides={"watch": "reward"},
    length=0.1,
    measure="reward.component.<func>.mean",
    if_cause="does the form of an answer earn half of what the answer does? yes",
    weight=3.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
