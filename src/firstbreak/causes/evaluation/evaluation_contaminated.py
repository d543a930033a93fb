"""The evaluation's problems are among the training's

## What happens
The score measures memory. It rises with the training reward and says nothing about new problems.

## When it is healthy
A rise of both that holds on a set collected after training.

## Fix
- Search the training set for the evaluation's prompts, exactly and nearly.
- Keep a private set that steers no decision.

## Smallest experiment
Evaluate on fresh problems of the same kind.

## References
https://arxiv.org/abs/2311.04850
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment

PRIOR = 0.2
FINDINGS: dict[str, float] = {}  # no curve shows it: overlap of the texts does
EXPERIMENT = Experiment(
    id="data-probe",
    overrides={"watch": "data"},
    length=0.1,
    measure="eval.accuracy",
    if_cause="are prompts of the evaluation trained on? yes",
    weight=3.5,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
