"""Shuffle the rewards

## What is done
The rewards of a group (or of a step, across parallel environments) are exchanged at random. The control arm learns from the
true rewards.

## What it tells
Shuffled rewards teach nothing, so the score must stay below the control's. If it does not, the original run did not learn
from its rewards either. If the score rises anyway, something else raises it: a leak, a bonus, or the evaluation.

## When it misleads
A model that was trained on the benchmark before can improve from any update.

## References
https://arxiv.org/abs/2506.10947
"""

from firstbreak.engine.families import Method, without
from firstbreak.engine.questions import outruns, rises
from firstbreak.knowledge.experiments._asked import ask

FAMILIES = without(Method.SUPERVISED)  # methods with a reward
OVERRIDES = {"reward": "shuffled"}
CONTROL: dict[str, object] = {}
QUESTIONS = (
    ask(
        "is the score below that of the control arm, which has the true rewards?",
        outruns("score", -1),
        "optimiser-not-connected 0.03, evaluation-of-stale-weights 0.1, "
        "advantage-sign-wrong reward-sign-wrong 0.05, "
        "answers-misaligned answers-beside-other-prompts prompts-too-hard 0.1, verdicts-noisy 0.3, healthy 0.8, "
        "otherwise 0.4",
    ),
    ask(
        "does the score rise although the rewards are shuffled?",
        rises("score"),
        "evaluation-protocol-changed 0.3, environment-changed 0.2, otherwise 0.04",
    ),
)
