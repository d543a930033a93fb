"""Set the clip range to 0.2

## What is done
The clip range is 0.2 on both sides. The control arm keeps the original clip range.

## What it tells
If the ratios stay small and the score rises, the clip was missing or too wide.

## When it misleads
With a single update for each batch the clip never acts, whatever its range.

## References
https://arxiv.org/abs/1707.06347
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.questions import outruns
from firstbreak.knowledge.experiments._asked import ask, better_score

FAMILIES = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)
OVERRIDES = {"clip_range": 0.2, "clip_range_high?": 0.2}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    ask(
        "do the ratios stay smaller than in the control arm?",
        outruns("policy_ratio_max", -1),
        "clip-missing 0.9, healthy 0.05, otherwise 0.08",
    ),
    better_score("clip-missing 0.6, healthy 0.05, otherwise 0.08"),
)
