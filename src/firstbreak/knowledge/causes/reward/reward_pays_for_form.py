"""The form of an answer is rewarded, and not the answer

## What happens
Format, language or style components of the reward can be earned without a right answer. The policy earns them, the total
rises, and the component that checks the answer never changes.

## When it is healthy
Form first and answers later is a normal order, as long as the answer component begins to rise.

## Fix
- Read the completions with the highest reward of the latest checkpoint.
- Send a right answer in the required form through the answer check: does it get its reward?
- Give the rewards for form for right answers only, or lower their weight.

## Smallest experiment
Train 30 steps on the answer component alone. If the component does not rise either, the answer is never extracted or
never right.

## References
https://arxiv.org/abs/2209.13085
https://github.com/huggingface/open-r1/issues/373
"""

from firstbreak.engine.families import Policy, only
from firstbreak.knowledge.causes.reward._exploited import reward_lost

PRIOR = 1.2
FAMILIES = only(Policy.TEXT)  # only policies that write text
FINDINGS = {
    "right-completions-unpaid": 0.5,
    "any-answer-paid": 0.7,
    "wrong-answers-paid": 0.5,
    "reward-proxy-only": 0.7,
    "reward-up-evaluation-down": 0.5,
    "zero-variance-groups": 0.3,
    "right-completions-no-longer-paid": 0.3,
}
EXPERIMENT = "reward-probe"
weights = reward_lost
