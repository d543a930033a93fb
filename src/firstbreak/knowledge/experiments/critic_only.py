"""Train only the critic

## What is done
The policy is frozen, and only the critic is trained on the returns of this policy.

## What it tells
With a fixed policy, the value targets are an ordinary regression problem, so the explained variance must rise. If it does
not rise, the critic is not trained, or it does not see what the returns depend on.

## When it misleads
Returns that hardly differ (a solved task) leave nothing to explain.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.questions import rises
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = only(Method.ACTOR_CRITIC, UNKNOWN)
OVERRIDES = {"policy": "frozen"}
QUESTIONS = (
    ask(
        "does the explained variance rise?",
        rises("value_explained_variance"),
        "critic-cannot-fit 0.05, critic-not-trained 0.02, observations-wrong 0.5, reward-scale-wrong 0.3, "
        "done-mask-wrong estimator-wrong 0.5, otherwise 0.85",
    ),
)
