"""Repeat the run with three seeds

## What is done
Only the seed changes: three seeds, the least for any claim that A is better than B.

## What it tells
A break that most seeds repeat belongs to the loop. A break that no seed repeats was chance. The spread between seeds is the
smallest difference that an A/B comparison can show.

## When it misleads
Three seeds show a spread, but they do not measure it well. A break of the evaluation or of the machine may need more points
than short runs have.

## References
https://arxiv.org/abs/1709.06560
https://arxiv.org/abs/2108.13264
"""

from firstbreak.engine.questions import breaks_again
from firstbreak.knowledge.experiments._asked import ask

OVERRIDES: dict[str, object] = {}
SEEDS = 3
LENGTH = 0.15
QUESTIONS = (
    ask("does the run break in the same link again?", breaks_again, "healthy 0.02, signal-too-weak 0.4, otherwise 0.6"),
)
