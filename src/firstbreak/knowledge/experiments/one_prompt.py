"""Train on a single prompt

## What is done
Every group of a batch answers the same prompt.

## What it tells
If the policy cannot memorise a single answer, the reward, the advantage or the update is broken. If it can, the break
needs several prompts to show: baselines over the wrong groups, the data, or the difficulty.

## When it misleads
A prompt that is always or never answered correctly gives no signal. The reward does not rise then, and cannot.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.questions import rises
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"data": "one"}
QUESTIONS = (
    ask(
        "does the training reward rise?",
        rises("reward_mean"),
        "groups-mixed 0.9, prompts-too-narrow 0.8, prompts-too-hard 0.4, "
        "evaluation-too-small evaluation-protocol-changed evaluation-of-stale-weights 0.85, "
        "advantages-of-other-rows estimator-wrong 0.05, loss-mask-wrong baseline-missing 0.7, "
        "answers-misaligned answers-beside-other-prompts 0.6, advantage-sign-wrong 0.05, "
        "optimiser-not-connected 0.03, verdicts-noisy 0.4, healthy 0.85, otherwise 0.5",
    ),
)
