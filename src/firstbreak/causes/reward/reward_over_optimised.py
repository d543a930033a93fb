"""The reward is optimised beyond what it measures

## What happens
A reward model, a judge or a shaped reward agrees with the goal only near the data it was made from. The further the
policy goes, the more of the gain is an artefact, and the true score turns.

## When it is healthy
Reward and evaluation that rise together, at whatever divergence.

## Fix
- Go back to the checkpoint with the best evaluation.
- Strengthen {kl_coef}, or stop at the divergence where the evaluation turned.
- Evaluate the reward itself: accuracy on held-out pairs, agreement with people.

## Smallest experiment
Score 50 samples of the best-evaluated and of the latest checkpoint by hand, blind.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

from firstbreak.inputs import Inputs, answer_parts
from firstbreak.model import Experiment, Weight
from firstbreak.stats.shape import trajectory

FINDINGS = {
    "reward-against-references": 0.05,
    "reward-up-evaluation-down": 0.9,
    "kl-reward": 0.5,
    "score-lost": 0.5,
    "length-runaway": 0.2,
}
EXPERIMENT = Experiment(
    id="stronger-kl",
    overrides={"kl_coef": 0.5},
    length=0.25,
    measure="eval.reward",
    if_cause="is the evaluation better than the control's? yes",
    weight=2.8,
)


def applies(inputs: Inputs) -> bool:
    """Where something independent of the reward can turn, or the reward itself is a model's opinion of a text."""
    return bool(inputs.get("writes_text")) or "reward.mean" in inputs.run.series


def facts(inputs: Inputs) -> list[Weight]:
    """What is over-optimised is a model's opinion, and rises: a check of answers is no model, a lost reward was not bought."""
    reward, weights = inputs.get("reward_mean"), []
    if reward is not None and trajectory(reward).lost:
        weights.append(Weight(finding="reward.mean", weight=-2.0, text="the reward itself is lost, with the score"))
    if parts := answer_parts(inputs.get("reward_component_mean")):
        weights.append(
            Weight(finding="reward.component", weight=-1.5, text=f"the reward is a check: {', '.join(parts)}")
        )
    return weights
