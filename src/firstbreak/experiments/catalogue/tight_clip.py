"""The clip back at 0.2

## What is done
The half-width of the ratio clip is set to 0.2, on both sides. A second arm goes on as it was.

## What it tells
Ratios that stay within bounds and a score that rises: the clip was missing or too wide.

## When it misleads
With a single update per batch the clip never acts, whatever it is.

## References
https://arxiv.org/abs/1707.06347
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"clip_range": 0.2, "clip_range_high?": 0.2}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="do ratios stay smaller than the control's?",
        answer=outruns("policy_ratio_max", -1),
        needs="policy_ratio_max",
        yes={"clip-missing": 0.9, "healthy": 0.05},
        otherwise=0.08,
    ),
    Question(
        asks="is the score better than the control's?",
        answer=outruns("score"),
        needs="score",
        yes={"clip-missing": 0.6, "healthy": 0.05},
        otherwise=0.08,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only methods of these families."""
    return inputs.get("family") in ("on_policy", "group", None)
