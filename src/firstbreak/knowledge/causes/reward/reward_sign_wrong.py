"""The reward has the wrong sign

## What happens
The policy learns, but away from the goal: it becomes reliably worse than before training, and more certain. A cost is
used as a reward, or the labels of preferences are swapped.

## When it is healthy
A score that falls below its start while the policy explores, and comes back.

## Fix
- Check the sign of every reward component against ten samples that were scored by hand.
- text: Check the order of chosen and rejected, and the sign of penalties.
- control: Check the sign of costs, and the wrappers of the environment that change the reward.

## Smallest experiment
Change the sign of the reward for 20 updates. If the score rises now, the sign was wrong.

preference: For preference pairs, this means to swap chosen and rejected.

## References
https://arxiv.org/abs/1709.06560
"""

from firstbreak.engine.refutations import right_answer_first
from firstbreak.knowledge.causes._evidence import stops_half_way

FINDINGS = {
    "right-completions-unpaid": 0.5,
    "right-answer-below-nothing": 0.8,
    "return-mirrored": 0.6,
    "reward-turns-round": 0.6,
    "reward-against-references": 0.3,
    "reward-range-changed": 0.6,
    "right-answers-unpaid": 0.3,
    "score-below-start": 0.5,
    "score-lost": 0.7,
    "zero-variance-groups": 0.3,
    "far-from-known-score": 0.6,
}
REFUTED_BY = (right_answer_first,)
EXPERIMENT = ("reward-probe", "reward-negated")
weights = stops_half_way
