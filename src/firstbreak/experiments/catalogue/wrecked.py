"""A learning rate that must break the policy

## What is done
The learning rate times 300, for a twentieth of the run: nothing may survive that.

## What it tells
A reward that does not even notice says that updates do not arrive. A reward that collapses beside an evaluation that
does not says that the evaluation looks at other weights.

## When it misleads
A trust region that stops early (target KL) protects the policy even from this.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, moves

OVERRIDES = {"learning_rate": "x300", "target_kl?": None, "eval_interval?": 1}
QUESTIONS = (
    Question(
        asks="does the training reward or the divergence notice?",
        answer=moves("reward_mean", "kl_ref", "policy_entropy"),
        needs="reward_mean",
        yes={"optimiser-not-connected": 0.1, "updates-rounded-away": 0.6, "reward-never-found": 0.6},
        otherwise=0.95,
    ),
    Question(
        asks="does the evaluation notice?",
        answer=moves("eval_score"),
        needs="eval_score",
        yes={"evaluation-of-stale-weights": 0.05, "optimiser-not-connected": 0.05, "evaluation-too-small": 0.6},
        otherwise=0.9,
    ),
)
