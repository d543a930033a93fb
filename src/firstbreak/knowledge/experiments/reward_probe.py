"""Score known answers with the reward function

## What is done
With each batch the reward function also scores the right answers, the right answers of other prompts, an empty answer,
each completion written twice, and each completion a second time.

## What it tells
Right answers must get the highest reward. The right answer of another prompt must get no more than any wrong answer. A
completion that is written twice must get nothing extra. The same text must get the same reward. Each exception names one
fault of the reward.

## When it misleads
The data set must hold the right answers. A reward function that reads the reasoning scores a bare answer as incomplete.

## References
https://arxiv.org/abs/1606.06565
"""

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.knowledge.experiments._asked import hooked

FAMILIES = only(Policy.TEXT, *SAMPLED)
OVERRIDES = {"watch": "reward"}
QUESTIONS = (
    hooked(
        "do right answers get a lower reward than wrong answers or an empty answer?",
        lambda right, other, empty: right < max(other, empty) - 0.02,
        "reward-sign-wrong 0.97, preference-data-wrong 0.6, silence-pays 0.3, "
        "answers-misaligned answers-beside-other-prompts 0.1, failures-graded-as-success 0.2, otherwise 0.02",
    ),
    hooked(
        "does a wrong answer in the right format get more than half of the reward?",
        lambda right, other, empty: other - empty > 0.5 * (right - empty) > 0,
        "reward-pays-for-form 0.93, reward-over-optimised preference-data-wrong 0.3, otherwise 0.03",
    ),
    hooked(
        "do right answers get the same as an empty answer?",
        lambda right, empty: right == empty,
        "verifier-rejects-all 0.95, reward-saturated 0.6, rewards-not-computed 0.3, otherwise 0.05",
    ),
    hooked(
        "do the right answers of other prompts get a reward?",
        lambda other, empty: other > empty + 0.02,
        "verifier-exploited 0.8, reward-pays-for-form 0.95, verdicts-noisy reward-over-optimised 0.9, "
        "preference-data-wrong 0.7, reward-pays-for-length 0.9, reward-saturated 0.5, otherwise 0.06",
    ),
    hooked(
        "does a completion get a reward when it is scored with another prompt?",
        lambda swapped, empty: swapped > empty + 0.02,
        "verifier-exploited 0.9, failures-graded-as-success 0.7, reward-pays-for-form 0.95, "
        "reward-pays-for-length reward-pays-for-calls verdicts-noisy reward-over-optimised 0.9, "
        "preference-data-wrong 0.7, otherwise 0.06",
    ),
    hooked(
        "do episodes with a failed tool call get a higher reward than others?",
        lambda erring_earns: erring_earns > 0.05,
        "failures-graded-as-success 0.95, reward-sign-wrong 0.5, otherwise 0.05",
    ),
    hooked(
        "are most completions of a prompt the same?",
        lambda distinct: distinct < 0.4,
        "samples-without-variety 0.9, sampling-too-cold 0.7, otherwise 0.06",
    ),
    hooked(
        "does a completion that is written twice get a higher reward?",
        lambda longer: longer > 0.02,
        "reward-pays-for-length 0.95, reward-over-optimised 0.2, reward-sign-wrong 0.6, otherwise 0.03",
    ),
    hooked(
        "does scoring one completion twice give different rewards?",
        lambda again: again > 0.02,
        "verdicts-noisy 0.95, rewards-of-other-rows 0.5, outages-graded-as-failures 0.3, reward-sign-wrong 0.2, "
        "otherwise 0.02",
    ),
    hooked(
        "does scoring one completion twice give slightly different rewards?",
        lambda again: 0 < again < 0.005,
        "tiny-spread-amplified 0.7, reward-over-optimised 0.1, otherwise 0.05",
    ),
    hooked(
        "does an empty answer get a higher reward than a completion?",
        lambda empty, plain: empty > plain + 0.02,
        "silence-pays 0.95, reward-sign-wrong 0.8, preference-data-wrong 0.3, otherwise 0.03",
    ),
)
