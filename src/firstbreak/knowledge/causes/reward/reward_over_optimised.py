"""The reward is over-optimised

## What happens
A reward model, a judge or a shaped reward agrees with the goal only near the data that it was made from. The further the
policy moves away from these data, the more of the gain is an error of the reward. At some point the true score falls.

## When it is healthy
Reward and evaluation that rise together, however far the policy has moved.

## Fix
- text: Raise {kl_coef}, or stop at the KL divergence at which the evaluation began to fall.
- control: Reward the goal of the task itself, and lower the weight of the shaping terms.
- Go back to the checkpoint with the best evaluation.
- text: Evaluate the reward itself: its accuracy on held-out pairs, and its agreement with people.
- control: Stop training where the evaluation begins to fall.

## Smallest experiment
text: Score 50 samples of the checkpoint with the best evaluation and 50 of the latest one by hand, without knowing which
is which. If the latest is not better, the reward is over-optimised.

control: Watch ten episodes of the checkpoint with the best evaluation and ten of the latest one, and count how many solve
the task. If the latest does not solve more, the reward is over-optimised.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Policy
from firstbreak.engine.inputs import Inputs, answer_parts
from firstbreak.engine.refutations import no_update
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.knowledge.causes.reward._exploited import reward_lost
from firstbreak.model import Weight

FINDINGS = {
    "reward-against-references": 0.05,
    "reward-up-evaluation-down": 0.9,
    "kl-reward": 0.5,
    "score-lost": 0.5,
    "length-runaway": 0.2,
    "repetition-growing": 0.3,
    "right-completions-no-longer-paid": 0.3,
}
SETTINGS = {"kl_coef": Side.LOW}
REFUTED_BY = (no_update,)
EXPERIMENT = ("stronger-kl", "toy-reward")


def applies(inputs: Inputs) -> bool:
    """Where something independent of the reward can turn, or the reward itself is a model's opinion of a text."""
    return inputs.policy is Policy.TEXT or "reward.mean" in inputs.run.series


def weights(inputs: Inputs) -> list[Weight]:
    """An over-optimised reward rises, and is a model's opinion: a check of answers is no model."""
    weights = reward_lost(inputs)
    if parts := answer_parts(inputs.reward_component_mean):
        weights.append(configured("reward.component", -1.5, f"the reward is a check: {', '.join(parts)}"))
    return weights
