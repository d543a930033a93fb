"""The length limit cuts the answers

## What happens
Completions hit the limit before the answer comes. The verifier scores them as wrong, most groups become all wrong and
silent, and the score cannot rise.

## When it is healthy
A share of cut completions that falls while the score rises: the policy learns to be brief.

## Fix
- Raise {max_new_tokens}.
- Mask cut completions in the loss ({mask_truncated}), or filter prompts whose answers are long.
- Use a soft length penalty before the limit.

## Smallest experiment
Generate for 50 prompts with four times {max_new_tokens} and score again: if the mean score rises, the limit was the
break.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/5697
"""

from __future__ import annotations

import numpy as np

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight
from firstbreak.words import percent

PRIOR = 1.5
FINDINGS = {
    "length-cap-lowered": 0.5,
    "truncation": 0.9,
    "zero-variance-groups": 0.4,
    "reward-at-floor": 0.3,
    "score-lost": 0.4,
    "reward-flat": 0.3,
    "entropy-stays-high": 0.3,
}
EXPERIMENT = Experiment(
    id="longer-limit",
    overrides={"max_new_tokens": "x4", "learning_rate": 0.0},
    length=0.07,
    measure="reward.mean",
    if_cause="is the reward higher with room to finish? yes",
    weight=3.4,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))


def facts(inputs: Inputs) -> list[Weight]:
    """The limit silences a group by cutting all of it: far more silent groups than cut completions have another reason."""
    silent, cut = inputs.get("silent_groups"), inputs.get("truncation")
    if silent is None or cut is None or not len(silent.finite) or not len(cut.finite):
        return []
    groups, completions = (float(np.mean(s.finite.tail(0.5).values)) for s in (silent, cut))
    if groups < 0.5 or groups - completions < 0.4:
        return []
    text = f"{percent(groups)} of the groups are silent, and only {percent(completions)} of the completions are cut"
    return [Weight(finding="silent groups", weight=-2.0, text=text)]
