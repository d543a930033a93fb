"""Use a learning rate that must break the policy

## What is done
The learning rate is multiplied by 300, for a tenth of the run. No policy can survive this.

## What it tells
If the training reward does not collapse, the updates do not reach the policy. If the training reward collapses and the
evaluation score does not, the evaluation uses old weights.

## When it misleads
A trust region that stops early (target KL) protects the policy even from this. An evaluation that copied the weights after
the first updates has copied a broken policy.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from firstbreak.engine.questions import collapses
from firstbreak.knowledge.experiments._asked import ask

OVERRIDES = {"learning_rate": "x300", "target_kl?": None, "eval_interval?": 1}
QUESTIONS = (
    ask(
        "does the training reward collapse?",
        collapses("reward_mean"),
        "optimiser-not-connected 0.1, updates-rounded-away reward-never-found 0.6, otherwise 0.95",
    ),
    ask(
        "does the evaluation score collapse?",
        collapses("eval_score"),
        "evaluation-of-stale-weights 0.5, optimiser-not-connected 0.05, evaluation-too-small 0.6, otherwise 0.9",
    ),
)
