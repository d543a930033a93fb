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
from firstbreak.engine.questions import toy_rises
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = without(Method.SUPERVISED)  # methods with a reward
OVERRIDES = {"reward": "toy"}
#: causes beside which a policy learns the toy reward
LEARNS = """
    actions-not-executed environment-changed episodes-end-wrongly observations-wrong termination-flags-wrong
    done-mask-wrong critic-cannot-fit horizon-too-short reward-never-found answers-misaligned
    answers-beside-other-prompts prompts-too-hard prompts-too-narrow reward-sign-wrong reward-scale-wrong
    reward-over-optimised reward-pays-for-form reward-pays-for-length verdicts-noisy verifier-exploited
    silence-pays evaluation-too-small evaluation-protocol-changed evaluation-of-stale-weights
    groups-carry-no-signal signal-too-weak
"""
QUESTIONS = (
    ask(
        "does the toy reward rise?",
        toy_rises,
        "advantage-sign-wrong 0.02, optimiser-not-connected 0.03, weights-replaced weight-decay-too-strong 0.1, "
        "old-checkpoint-loaded 0.2, actor-left-behind 0.1, other-actions-stored 0.03, advantages-of-other-rows 0.2, "
        "estimator-wrong 0.4, gradients-not-finite updates-rounded-away kl-penalty-too-strong 0.3, "
        "entropy-bonus-too-strong weights-not-delivered 0.4, step-size-too-large groups-mixed 0.6, "
        "premature-convergence 0.5, " + LEARNS + " healthy 0.95, otherwise 0.6",
    ),
)
