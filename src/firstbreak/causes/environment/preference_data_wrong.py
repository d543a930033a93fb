"""The preference data or its collator is wrong

## What happens
Chosen and rejected are swapped, cut, padded or packed wrongly, or the reference log-probabilities belong to other
sequences. The loss runs, but on pairs that nobody prefers.

## When it is healthy
With a sigmoid loss the first value is ln 2 = 0.693, and the accuracy of the implicit reward climbs from one half.

## Fix
- Print ten pairs after the collator, decoded, with the tokens that get loss.
- Compare the first loss with ln 2 = 0.693: policy and reference are equal there.
- Check that no pair is identical, cut or swapped.

## Smallest experiment
Take one batch with learning rate 0: the loss must be ln 2 and the margin 0; swap chosen and rejected, and the sign of
the margin's growth must turn.

## References
https://arxiv.org/abs/2305.18290
https://github.com/allenai/open-instruct/pull/1900
"""

from __future__ import annotations

from firstbreak.inputs import Inputs, answer_parts
from firstbreak.model import Experiment

FINDINGS = {
    "reward-against-references": 0.7,
    "preference-loss-start": 0.6,
    "preference-labels-swapped": 0.5,
    "wrong-answers-paid": 0.4,
    "reward-up-evaluation-down": 0.5,
    "score-below-start": 0.3,
    "score-lost": 0.4,
}
EXPERIMENT = Experiment(
    id="reward-probe",
    overrides={"watch": "reward"},
    length=0.1,
    measure="loss.total",
    if_cause="do right answers earn less than others' answers or nothing at all? yes",
    weight=3.4,
)


def applies(inputs: Inputs) -> bool:
    """Preference optimisation, and rewards of texts that a model has learned from pairs, as far as names tell."""
    learned = bool(inputs.get("writes_text")) and not answer_parts(inputs.get("reward_component_mean"))
    return inputs.get("family") == "preference" or learned
