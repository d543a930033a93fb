"""The same with other seeds

## What is done
Nothing is changed but the seed: three of them, the least for any claim that A is better than B.

## What it tells
A break that most seeds repeat belongs to the loop; one that none repeats was chance. The spread between seeds is the
smallest difference that an A/B comparison can speak of.

## When it misleads
Three seeds show a spread; they do not measure it well. A break of the evaluation or of the machine may need more points
than short runs have.

## References
https://arxiv.org/abs/1709.06560
https://arxiv.org/abs/2108.13264
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, breaks_again

OVERRIDES: dict[str, object] = {}
SEEDS = 3
LENGTH = 0.15
QUESTIONS = (
    Question(
        asks="does it break in the same link again?",
        answer=breaks_again,
        yes={"healthy": 0.02, "signal-too-weak": 0.4},
        otherwise=0.6,
    ),
)
