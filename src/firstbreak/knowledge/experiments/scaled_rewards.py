"""Normalise the rewards

## What is done
Rewards are divided by a running estimate of their standard deviation. The control arm keeps the original rewards.

## What it tells
If the policy now moves much further in an update, the scale of the rewards had held it: large errors of the critic use up
the clipped gradient norm, and the policy gets almost nothing of it.

## When it misleads
Running estimates drift at the start of a run. A critic learns small numbers faster, so the score of a healthy run may be
better as well.

## References
https://arxiv.org/abs/1709.06560
"""

from firstbreak.engine.families import UNKNOWN, Method, only, without
from firstbreak.engine.questions import outruns
from firstbreak.knowledge.experiments._asked import ask, better_score

FAMILIES = without(Method.SUPERVISED)  # methods with a reward
OVERRIDES = {"normalize_reward": True}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    ask(
        "does the policy move more than twice as far in an update as in the control arm?",
        outruns("kl_old", by=1.0),
        "reward-scale-wrong 0.85, healthy 0.05, otherwise 0.08",
        families=only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN),
    ),
    better_score("reward-scale-wrong 0.85, healthy 0.3, otherwise 0.2"),
)
