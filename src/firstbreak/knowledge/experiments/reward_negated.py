"""Negate the reward

## What is done
Every reward is multiplied by -1 before anything is computed from it.

## What it tells
The true score must fall now. If it rises, or lies above the original run's at the same steps, the sign was wrong somewhere
between the reward and the update.

## When it misleads
A score that is at its minimum cannot fall.

## References
https://arxiv.org/abs/1709.06560
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.questions import either, falls, outruns, rises
from firstbreak.engine.stats.sequential import ALPHA
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = without(Method.SUPERVISED)  # methods with a reward
HALF = ALPHA / 2  # of the error probability: a score that rises, or that lies above the original's at the same steps
OVERRIDES = {"reward": "negated"}
LENGTH = 0.15
QUESTIONS = (
    ask(
        "does the score rise with the negated reward?",
        either(rises("eval_score", HALF), outruns("eval_score", 1, alpha=HALF)),
        "loss-sign-wrong 0.8, reward-sign-wrong direction-reversed advantage-sign-wrong 0.7, otherwise 0.02",
    ),
    ask(
        "does the score fall with the negated reward?",
        falls("eval_score"),
        "reward-sign-wrong advantage-sign-wrong 0.05, optimiser-not-connected 0.03, "
        "evaluation-of-stale-weights 0.1, answers-misaligned answers-beside-other-prompts 0.3, verdicts-noisy 0.4, "
        "healthy 0.85, otherwise 0.6",
    ),
)
