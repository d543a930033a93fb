"""The goal is never reached, so nothing can be learned from it

## What happens
The reward is so sparse that random behaviour hardly ever earns it. The policy gets the lowest reward again and again, and
nothing shows a better direction.

## When it is healthy
A run that starts late: the score stays at its lowest value for long, and then rises.

## Fix
- control: Start closer to the goal, or use a curriculum, demonstrations, or hindsight relabelling.
- text: Begin with easier prompts, use a curriculum, or fine-tune on right answers first.
- Add intermediate rewards that do not change which behaviour is best.
- actor_critic: Explore more: raise {entropy_coef}.
- value_based: Explore more: raise {exploration_fraction}, {action_noise}, or {learning_starts}.

## Smallest experiment
Train for a short time on a reward that any policy can raise: if this reward rises, the updates work, and the real reward
is only never found.

control: Also run a scripted expert in the same environment: it must earn the real reward.

text: Also score a right answer with the same reward function: it must earn the real reward.

## References
https://arxiv.org/abs/1707.01495
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.refutations import learned, scores_well

PRIOR = 1.2
FAMILIES = only(
    Method.ACTOR_CRITIC, Method.VALUE_BASED, UNKNOWN
)  # with groups of completions the same picture means prompts that are too hard
FINDINGS = {
    "reward-at-floor": 0.9,
    "reward-flat": 0.75,
    "entropy-stays-high": 0.3,
    "far-from-known-score": 0.6,
    "critic-not-learning": 0.3,
}
REFUTED_BY = (learned, scores_well)
EXPERIMENT = "toy-reward"
