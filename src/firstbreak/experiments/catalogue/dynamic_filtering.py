"""Only groups that differ

## What is done
Prompts whose completions all earn the same are replaced by others (DAPO's dynamic sampling). A second arm goes on as
it was.

## What it tells
A score that is better now was starved by groups without differences. Groups that are equal all the same cannot be
replaced: hardly any prompt has completions that differ, and the data or the sampling must change.

## When it misleads
Each update costs several rollouts: a little gain over the same number of updates is none over the same time.

## References
https://arxiv.org/abs/2503.14476
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, lies_above, outruns
from firstbreak.inputs import Inputs

OVERRIDES = {"dynamic_sampling": True, "eval_interval?": 1}
CONTROL = {"eval_interval?": 1}
LENGTH = 0.25
QUESTIONS = (
    Question(
        asks="is the score better than the control's?",
        answer=outruns("score"),
        needs="score",
        yes={"groups-carry-no-signal": 0.7, "sampling-too-cold": 0.8, "prompts-too-hard": 0.2, "healthy": 0.15},
        otherwise=0.08,
    ),
    Question(
        asks="are most groups equal although such groups are replaced?",
        answer=lies_above("reward_zero_std_frac", 0.5),
        needs="reward_zero_std_frac",
        yes={"prompts-too-hard": 0.9, "samples-without-variety": 0.8, "answers-misaligned": 0.5, "healthy": 0.02},
        otherwise=0.05,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only groups of completions per prompt."""
    return inputs.get("family") in ("group", None)
