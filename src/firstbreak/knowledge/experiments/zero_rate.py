"""Run without learning

## What is done
The learning rate is 0 for a tenth of the run. Rollout, reward and evaluation go on, and the weights do not change.

## What it tells
Whatever changes now is changed by something other than the update: the environment, the reward, the evaluation or the
sampler. Trainer and rollout have the same weights all the time, so every ratio between them must be exactly 1.

## When it misleads
Running statistics (normalised observations or rewards) drift at the start of every run. An optimizer with weight
decay still changes the weights.

## References
https://arxiv.org/abs/2510.26788
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import Method
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import Answer, Arms, any_of, is_not_finite, is_off, jumps, moves
from firstbreak.engine.stats.sequential import ALPHA
from firstbreak.knowledge.experiments._asked import ask

OVERRIDES = {"learning_rate": 0.0, "value_learning_rate?": 0.0, "weight_decay?": 0.0}


def _moves(arms: Arms) -> Answer:
    """A value-based method tries less and less by plan, so that its training reward moves: its greedy evaluation must not."""
    if Inputs(arms.original).method is Method.VALUE_BASED:
        return jumps("eval_score")(arms)
    return any_of([jumps("eval_score", ALPHA / 2)(arms), moves("reward_mean", alpha=ALPHA / 2)(arms)])


QUESTIONS = (
    ask(
        "does the reward or the score change although the weights do not change?",
        _moves,
        "environment-changed 0.9, evaluation-protocol-changed tools-fail 0.7, "
        "length-limit-too-short sampler-differs-from-policy 0.5, observations-wrong 0.3, "
        "reward-sign-wrong reward-pays-for-length verifier-exploited outages-graded-as-failures 0.4, "
        "verdicts-noisy 0.15, reward-no-longer-computed 0.5, otherwise 0.06",
        needs="score",
        instead=("learning_rate",),
    ),
    ask(
        "do trainer and rollout give different probabilities with the same weights?",
        is_off(
            {
                "policy_ratio_max": 1.0,
                "policy_ratio_mean": 1.0,
                "behave_ratio_max": 1.0,
                "behave_ratio_mean": 1.0,
                "rollout_train_ratio_mean": 1.0,
                "rollout_train_kl": 0.0,
                "kl_old": 0.0,
            },
            tolerance=0.02,
        ),
        "engines-disagree sampling-differs-from-scoring 0.97, sampler-differs-from-policy 0.9, otherwise 0.03",
    ),
    ask(
        "has the reward no number although the weights do not change?",
        is_not_finite("reward_mean"),
        "rewards-not-computed 0.9, otherwise 0.02",
    ),
)
