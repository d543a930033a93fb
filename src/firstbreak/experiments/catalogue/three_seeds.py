"""The same with other seeds

## What is done
Nothing is changed but the seed: three of them, the least for any claim that A is better than B.

## What it tells
A break that most seeds repeat belongs to the loop; one that none repeats was chance, of the seed, the evaluation or the
machine. The spread between seeds is the smallest difference that an A/B comparison can speak of.

## When it misleads
Three seeds show a spread; they do not measure it well.

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
        yes={"healthy": 0.02, "evaluation-too-small": 0.3, "signal-too-weak": 0.4, "interference": 0.2},
        otherwise=0.6,
    ),
)
