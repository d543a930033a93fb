"""Replace the reward by one that any working loop can raise

## What is done
The reward is replaced by a toy reward. For a language model this is the share of characters with an even code point; for a
policy that acts in an environment, whether the first action (or a negative action) was chosen.

## What it tells
The toy reward must rise within about twenty updates. If it rises, advantages and updates work, and the break is in the
environment, the data or the real reward. If it does not rise, the break is in the advantages or the updates.

## When it misleads
A strong KL penalty holds the policy, whatever the reward.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
https://arxiv.org/abs/2101.00135
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.questions import Question, toy_rises

FAMILIES = without(Method.SUPERVISED)  # methods with a reward
OVERRIDES = {"reward": "toy"}
QUESTIONS = (
    Question(
        asks="does the toy reward rise?",
        answer=toy_rises,
        yes={
            "advantage-sign-wrong": 0.02,
            "optimiser-not-connected": 0.03,
            "weights-replaced": 0.1,
            "weight-decay-too-strong": 0.1,
            "old-checkpoint-loaded": 0.2,
            "actor-left-behind": 0.1,
            "other-actions-stored": 0.03,
            "advantages-of-other-rows": 0.2,
            "estimator-wrong": 0.4,
            "gradients-not-finite": 0.3,
            "updates-rounded-away": 0.3,
            "kl-penalty-too-strong": 0.3,
            "entropy-bonus-too-strong": 0.4,
            "weights-not-delivered": 0.4,
            "step-size-too-large": 0.6,
            "groups-mixed": 0.6,
            "premature-convergence": 0.5,
            "actions-not-executed": 0.95,
            "environment-changed": 0.95,
            "episodes-end-wrongly": 0.95,
            "observations-wrong": 0.95,
            "termination-flags-wrong": 0.95,
            "done-mask-wrong": 0.95,
            "critic-cannot-fit": 0.95,
            "horizon-too-short": 0.95,
            "reward-never-found": 0.95,
            "answers-misaligned": 0.95,
            "answers-beside-other-prompts": 0.95,
            "prompts-too-hard": 0.95,
            "prompts-too-narrow": 0.95,
            "reward-sign-wrong": 0.95,
            "reward-scale-wrong": 0.95,
            "reward-over-optimised": 0.95,
            "reward-pays-for-form": 0.95,
            "reward-pays-for-length": 0.95,
            "verdicts-noisy": 0.95,
            "verifier-exploited": 0.95,
            "silence-pays": 0.95,
            "evaluation-too-small": 0.95,
            "evaluation-protocol-changed": 0.95,
            "evaluation-of-stale-weights": 0.95,
            "groups-carry-no-signal": 0.95,
            "signal-too-weak": 0.95,
            "healthy": 0.95,
        },
        otherwise=0.6,
    ),
)
