"""Repeat the run, small and short

## What is done
A tenth of the steps with nothing else changed; with the smaller model and batch that the user names.

## What it tells
If the run breaks again, the break is in the loop, and you can look for it in minutes. If it does not, the break needs scale
or time, or it was chance.

## When it misleads
A break that starts after a fixed number of steps does not fit into a tenth of them. A break of the evaluation or of the
machine shows in the noise of many points, so a short run without it says nothing.

## References
https://arxiv.org/abs/1709.06560
"""

from firstbreak.engine.questions import breaks_again
from firstbreak.knowledge.experiments._asked import ask

OVERRIDES = {"model?": "@small_model", "batch_size?": "@small_batch"}
BARE = True
QUESTIONS = (
    ask(
        "does the run break in the same link again?",
        breaks_again,
        "healthy 0.02, reward-over-optimised 0.2, otherwise 0.5",
    ),
)
