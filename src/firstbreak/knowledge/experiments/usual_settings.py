"""Set every option to its usual value

## What is done
The options of the update, of exploration and of sampling get the values that most runs use, as far as the trainer has them. The
learning rate and the sizes stay.

## What it tells
If the score rises, one of these settings is the cause. If it does not, the cause is in the code, the reward or the data.

## When it misleads
The usual values are not right for every task.

## References
https://arxiv.org/abs/2006.05990
"""

from firstbreak.knowledge.experiments._asked import better_score

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
THEN = {"no": ("larger-batch",)}
QUESTIONS = (
    better_score(
        "entropy-bonus-too-strong 0.85, dropout-active 0.6, premature-convergence 0.7, sampling-too-cold 0.8, "
        "kl-penalty-too-strong 0.85, "
        "clip-missing horizon-too-short rollouts-too-old behaviour-weights-uncapped 0.8, healthy 0.05, otherwise 0.08",
        than="the original run at the same steps",
    ),
)
