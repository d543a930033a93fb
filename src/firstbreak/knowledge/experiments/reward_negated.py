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
from firstbreak.engine.questions import Question, either, falls, outruns, rises
from firstbreak.engine.stats.sequential import ALPHA

FAMILIES = without(Method.SUPERVISED)  # methods with a reward
HALF = ALPHA / 2  # of the error probability: a score that rises, or that lies above the original's at the same steps
OVERRIDES = {"reward": "negated"}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does the score rise with the negated reward?",
        answer=either(rises("eval_score", HALF), outruns("eval_score", 1, alpha=HALF)),
        yes={"loss-sign-wrong": 0.8, "reward-sign-wrong": 0.7, "direction-reversed": 0.7, "advantage-sign-wrong": 0.7},
        otherwise=0.02,
    ),
    Question(
        asks="does the score fall with the negated reward?",
        answer=falls("eval_score"),
        yes={
            "reward-sign-wrong": 0.05,
            "advantage-sign-wrong": 0.05,
            "optimiser-not-connected": 0.03,
            "evaluation-of-stale-weights": 0.1,
            "answers-misaligned": 0.3,
            "answers-beside-other-prompts": 0.3,
            "verdicts-noisy": 0.4,
            "healthy": 0.85,
        },
        otherwise=0.6,
    ),
)
