"""What the reward function says of answers that are known

## What is done
With each batch the reward function also judges the right answers, the right answers of other prompts, nothing at all,
each completion said twice, and each completion a second time.

## What it tells
Right answers must earn most, another prompt's answer no more than any wrong one, saying everything twice nothing
extra, and the same text the same. Each exception names one break of the reward.

## When it misleads
The data set must hold the right answers. A reward that reads the reasoning judges a bare answer as incomplete.

## References
https://arxiv.org/abs/1606.06565
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, watched
from firstbreak.inputs import Inputs

OVERRIDES = {"watch": "reward"}
QUESTIONS = (
    Question(
        asks="do right answers earn less than others' answers or nothing at all?",
        answer=watched(
            lambda mean: mean["right"] < max(mean["other"], mean["empty"]) - 0.02, "right", "other", "empty"
        ),
        needs="hooks",
        yes={
            "reward-sign-wrong": 0.97,
            "preference-data-wrong": 0.6,
            "silence-pays": 0.3,
            "answers-misaligned": 0.1,
            "failures-graded-as-success": 0.2,
        },
        otherwise=0.02,
    ),
    Question(
        asks="does the form of an answer earn half of what the answer does?",
        answer=watched(
            lambda mean: mean["other"] - mean["empty"] > 0.5 * (mean["right"] - mean["empty"]) > 0,
            "right",
            "other",
            "empty",
        ),
        needs="hooks",
        yes={"reward-pays-for-form": 0.93, "reward-over-optimised": 0.3, "preference-data-wrong": 0.3},
        otherwise=0.03,
    ),
    Question(
        asks="do other prompts' answers earn anything?",
        answer=watched(lambda mean: mean["other"] > mean["empty"] + 0.02, "other", "empty"),
        needs="hooks",
        yes={
            "verifier-exploited": 0.8,
            "reward-pays-for-form": 0.95,
            "verdicts-noisy": 0.9,
            "reward-over-optimised": 0.9,
            "preference-data-wrong": 0.7,
            "reward-pays-for-length": 0.9,
        },
        otherwise=0.06,
    ),
    Question(
        asks="do completions earn anything with another prompt?",
        answer=watched(lambda mean: mean["swapped"] > mean["empty"] + 0.02, "swapped", "empty"),
        needs="hooks",
        yes={
            "verifier-exploited": 0.9,
            "failures-graded-as-success": 0.7,
            "reward-pays-for-form": 0.95,
            "reward-pays-for-length": 0.9,
            "reward-pays-for-calls": 0.9,
            "verdicts-noisy": 0.9,
            "reward-over-optimised": 0.9,
            "preference-data-wrong": 0.7,
        },
        otherwise=0.06,
    ),
    Question(
        asks="do episodes in which a tool has failed earn more than others?",
        answer=watched(lambda mean: mean["erring_earns"] > 0.05, "erring_earns"),
        needs="hooks",
        yes={"failures-graded-as-success": 0.95, "reward-sign-wrong": 0.5},
        otherwise=0.05,
    ),
    Question(
        asks="are completions of a prompt copies of each other?",
        answer=watched(lambda mean: mean["distinct"] < 0.4, "distinct"),
        needs="hooks",
        yes={"samples-without-variety": 0.9, "sampling-too-cold": 0.7},
        otherwise=0.06,
    ),
    Question(
        asks="does saying it twice earn more?",
        answer=watched(lambda mean: mean["longer"] > 0.02, "longer"),
        needs="hooks",
        yes={"reward-pays-for-length": 0.95, "reward-over-optimised": 0.2, "reward-sign-wrong": 0.6},
        otherwise=0.03,
    ),
    Question(
        asks="are two verdicts on one completion different?",
        answer=watched(lambda mean: mean["again"] > 0.02, "again"),
        needs="hooks",
        yes={"verdicts-noisy": 0.95, "outages-graded-as-failures": 0.3, "reward-sign-wrong": 0.2},
        otherwise=0.02,
    ),
    Question(
        asks="do two verdicts on one completion differ by a trace?",
        answer=watched(lambda mean: 0 < mean["again"] < 0.005, "again"),
        needs="hooks",
        yes={"tiny-spread-amplified": 0.7, "reward-over-optimised": 0.1},
        otherwise=0.05,
    ),
    Question(
        asks="does nothing at all earn more than a completion?",
        answer=watched(lambda mean: mean["empty"] > mean["plain"] + 0.02, "empty", "plain"),
        needs="hooks",
        yes={"silence-pays": 0.95, "reward-sign-wrong": 0.8, "preference-data-wrong": 0.3},
        otherwise=0.03,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))
