"""Everything that must hold while nothing is learned

## What is done
The learning rate is 0 and an evaluation follows every step; the hooks score known answers and compare the weights of
trainer and engine. One short run answers every question that needs no learning.

## What it tells
Wiring breaks these invariants from the first step on, dynamics break none of them. A break of one names its link; if
all hold, wiring is innocent, and what is left is the update and its settings.

## When it misleads
What sets in later than the experiment lasts is not seen.

## References
https://arxiv.org/abs/2510.26788
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from __future__ import annotations

from firstbreak.experiments.catalogue import locked_evaluation, reward_probe, weight_hashes, zero_rate
from firstbreak.experiments.questions import Question, is_off

OVERRIDES = {
    **zero_rate.OVERRIDES,
    "eval_interval?": 1,
    "watch?": "reward weights",
}
QUESTIONS = (
    *zero_rate.QUESTIONS,
    *locked_evaluation.QUESTIONS[1:],
    *reward_probe.QUESTIONS,
    *weight_hashes.QUESTIONS,
    Question(
        asks="do the advantages of a prompt fail to cancel?",
        answer=is_off({"advantage_of_prompt_absmax": 0.0}, tolerance=0.1),
        needs="advantage_of_prompt_absmax",
        yes={"groups-mixed": 0.95, "advantage-sign-wrong": 0.3},
        otherwise=0.04,
    ),
)
