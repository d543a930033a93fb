"""The same, small and short

## What is done
A tenth of the steps with nothing else changed; with the smaller model and batch that the user names.

## What it tells
A break that comes back is in the loop and can be looked for in minutes. One that does not needs scale, time or bad
luck.

## When it misleads
A break that sets in after a fixed number of steps does not fit into a tenth of them. One of the evaluation or of the
machine is told by the noise of many points, so that a short run without it says nothing.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, breaks_again

OVERRIDES = {"model?": "@small_model", "batch_size?": "@small_batch"}
BARE = True
QUESTIONS = (
    Question(
        asks="does it break in the same link again?",
        answer=breaks_again,
        yes={"healthy": 0.02, "reward-over-optimised": 0.2},
        otherwise=0.5,
    ),
)
