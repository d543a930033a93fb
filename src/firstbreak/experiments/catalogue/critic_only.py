"""Only the critic learns

## What is done
The policy stands still, and the critic is fitted to its returns.

## What it tells
Values of a fixed policy are plain regression: explained variance must rise. If it does not, the critic is not
trained, or does not see what the returns depend on.

## When it misleads
Returns that hardly differ (a solved task) leave nothing to explain.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, rises
from firstbreak.inputs import Inputs

OVERRIDES = {"policy": "frozen"}
QUESTIONS = (
    Question(
        asks="does explained variance rise?",
        answer=rises("value_explained_variance"),
        needs="value_explained_variance",
        yes={"critic-cannot-fit": 0.05, "observations-wrong": 0.5, "reward-scale-wrong": 0.3, "done-mask-wrong": 0.5},
        otherwise=0.85,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only methods of these families."""
    return inputs.get("family") in ("on_policy", None)
