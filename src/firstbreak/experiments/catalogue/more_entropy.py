"""A small entropy bonus

## What is done
The entropy bonus is set to 0.01. A second arm goes on as it was.

## What it tells
Entropy that holds and a score that rises: the policy had stopped trying other things too early.

## When it misleads
In text, a bonus that is too strong buys noise.

## References
https://arxiv.org/abs/2505.22617
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, beats

OVERRIDES = {"entropy_coef": 0.01}
CONTROL: dict[str, object] = {}
LENGTH = 0.075
QUESTIONS = (
    Question(
        asks="is the policy's entropy higher?",
        answer=beats("policy_entropy"),
        needs="policy_entropy",
        yes={"premature-convergence": 0.75, "entropy-bonus-too-strong": 0.01},
        otherwise=0.15,
    ),
    Question(
        asks="is the score better?",
        answer=beats("score"),
        needs="score",
        yes={"premature-convergence": 0.5, "entropy-bonus-too-strong": 0.5},
        otherwise=0.05,
    ),
)
