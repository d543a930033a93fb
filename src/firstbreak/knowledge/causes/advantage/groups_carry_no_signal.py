"""Rewards within a group are equal

## What happens
The reward cannot tell the completions of one prompt apart: too few completions, too few levels of reward, sampling
without variety, or prompts that are always right or always wrong. The advantages are 0.

## When it is healthy
A solved task: all answers of the groups are right.

## Fix
- Check whether the answers of zero-variance groups are all right or all wrong.
- Raise {group_size} or {temperature}; use a reward with more levels (partial credit).
- Drop zero-variance groups and sample others instead ({dynamic_sampling}).

## Smallest experiment
Sample one batch with four times {group_size}: the share of zero-variance groups must fall.

## References
https://arxiv.org/abs/2503.14476
https://github.com/huggingface/trl/issues/3857
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import UNKNOWN, Method, Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.refutations import nearly_all_right
from firstbreak.engine.stats.points import quantile
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight

PRIOR = 1.2
FAMILIES = only(Policy.TEXT, Method.GROUP_RELATIVE, UNKNOWN)  # only groups of completions per prompt
FINDINGS = {
    "zero-variance-groups": 0.95,
    "group-too-small": 0.4,
    "reward-flat": 0.45,
    "outputs-alike": 0.2,
    "gradient-vanished": 0.3,
    "no-update": 0.2,
}
SETTINGS = {"group_size": Side.LOW, "dynamic_sampling": Side.OFF}
REFUTED_BY = (nearly_all_right,)
EXPERIMENT = "larger-group"


def weights(inputs: Inputs) -> list[Weight]:
    """Advantages that are spread out in every step: their groups are not equal."""
    spread = inputs.advantage_std
    if spread is None or len(spread.finite) < 5 or quantile(spread.finite.values, 0.1) < 0.5:
        return []
    typical = float(np.median(spread.finite.values))
    return [configured("advantage.std", -3.0, f"the advantages have a spread of {typical:.2g} throughout")]
