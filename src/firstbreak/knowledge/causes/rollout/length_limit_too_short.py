"""The length limit cuts the answers

## What happens
Completions reach the limit before the answer. The verifier scores them as wrong. In most groups all completions are then
wrong, the groups have zero variance, and the score cannot rise.

## When it is healthy
A share of cut completions that falls while the score rises: the policy learns to be brief.

## Fix
- Raise {max_new_tokens}.
- Exclude cut completions from the loss ({mask_truncated}).
- Filter prompts whose answers are long.
- Add a soft length penalty before the limit.

## Smallest experiment
Generate for 50 prompts with four times {max_new_tokens}, and score the answers. If the mean score is higher, the limit was
the cause.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/5697
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.refutations import hardly_any_is_cut
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight
from firstbreak.words import percent

PRIOR = 1.5
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
FINDINGS = {
    "answer-beyond-limit": 0.6,
    "length-cap-lowered": 0.5,
    "truncation": 0.9,
    "zero-variance-groups": 0.4,
    "reward-at-floor": 0.3,
    "score-lost": 0.4,
    "reward-flat": 0.3,
    "entropy-stays-high": 0.3,
}
SETTINGS = {"mask_truncated": Side.OFF}
REFUTED_BY = (hardly_any_is_cut,)
EXPERIMENT = "longer-limit"


def weights(inputs: Inputs) -> list[Weight]:
    """The limit makes a group equal by cutting all of it: far more zero-variance groups have another reason."""
    equal, cut = inputs.zero_variance_groups, inputs.truncation
    if equal is None or cut is None or not len(equal.finite) or not len(cut.finite):
        return []
    groups, completions = (float(np.mean(s.finite.tail(0.5).values)) for s in (equal, cut))
    if groups < 0.5 or groups - completions < 0.4:
        return []
    text = f"{percent(groups)} of the groups have zero variance, and only {percent(completions)} of the completions are cut"
    return [configured("zero-variance groups", -2.0, text)]
