"""Every setting where it usually is

## What is done
Entropy bonus, penalty, clip, discount, sampling and staleness at the values that most runs use; the learning rate and
the sizes stay.

## What it tells
A score that rises says that one of these settings is the cause. One that does not says that it lies in code, reward
or data.

## When it misleads
What is usual is not right for every task.

## References
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {
    "entropy_coef?": 0.0,
    "kl_coef?": 0.01,
    "clip_range?": 0.2,
    "gamma?": 0.99,
    "temperature?": 1.0,
    "top_p?": 1.0,
    "max_staleness?": 0,
    "minibatches?": 2,
    "epochs_per_batch?": 4,
}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="is the score better than the original's at the same steps?",
        answer=outruns("score"),
        needs="score",
        yes={
            "entropy-bonus-too-strong": 0.85,
            "premature-convergence": 0.7,
            "sampling-too-cold": 0.8,
            "kl-penalty-too-strong": 0.85,
            "clip-missing": 0.8,
            "horizon-too-short": 0.8,
            "rollouts-too-old": 0.8,
            "behaviour-weights-uncapped": 0.8,
            "healthy": 0.05,
        },
        otherwise=0.08,
    ),
)
