"""Check everything that must hold while nothing is learned

## What is done
The learning rate is divided by 10000. The policy does not change in practice, but each weight update can still be told from
the one before. An evaluation follows every step. The hooks score known answers, compare the prompts of training and
evaluation, compare the weights of trainer, inference engine and evaluation, record what environments do, compute the
advantages a second time, and record the process and the settings in force. One short run answers every question that does
not need learning.

## What it tells
An error in the wiring breaks one of these invariants from the first step on; the training dynamics break none of them. The
invariant that is broken names its link. If all invariants hold, the wiring is right, and the update and its settings remain.

## When it misleads
A fault that starts later than the experiment lasts is not seen.

## References
https://arxiv.org/abs/2510.26788
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

from firstbreak.engine.families import Method, Policy, only
from firstbreak.engine.questions import is_off, lies_above, lies_apart, lies_below
from firstbreak.knowledge.experiments import (
    data_probe,
    environment_probe,
    locked_evaluation,
    process_probe,
    reward_probe,
    weight_hashes,
    zero_rate,
)
from firstbreak.knowledge.experiments._asked import ask, hooked

OVERRIDES = {
    **zero_rate.OVERRIDES,
    "learning_rate": "/10000",
    "value_learning_rate?": "/10000",
    "eval_interval?": 1,
    "watch?": "reward data weights environment process",
}
QUESTIONS = (
    *zero_rate.QUESTIONS,
    *locked_evaluation.QUESTIONS[1:],
    *reward_probe.QUESTIONS,
    *data_probe.QUESTIONS,
    *weight_hashes.QUESTIONS,
    *environment_probe.QUESTIONS,
    *process_probe.QUESTIONS,
    hooked(
        "do the trainer's weights have few significant bits?",
        lambda trainer_bits: trainer_bits < 16,
        "updates-rounded-away 0.9, healthy 0.1, otherwise 0.1",
        needs="weights",
    ),
    ask(
        "do the advantages of a prompt have a mean that is not 0?",
        is_off({"advantage_of_prompt_absmax": 0.0}, tolerance=0.1),
        "groups-mixed 0.95, advantage-sign-wrong 0.3, otherwise 0.04",
        needs="advantage_of_prompt_absmax",
        again=("advantage_of_prompt_absmax",),
        families=only(Method.GROUP_RELATIVE),
    ),
    ask(
        "are completions cut at the length limit before anything is learned?",
        lies_above("length_clipped_ratio", 0.15),
        "length-limit-too-short 0.9, sampler-differs-from-policy 0.3, healthy 0.02, otherwise 0.04",
        again=("length_clipped_ratio",),
    ),
    ask(
        "do tool calls fail often?",
        lies_above("tool_failure_freq", 0.15),
        "tools-fail 0.9, failures-graded-as-success 0.2, otherwise 0.05",
        again=("tool_failure_freq",),
    ),
    ask(
        "is the accuracy of the reward model low on new pairs?",
        lies_below("rm_accuracy", 0.85),
        "reward-over-optimised 0.8, preference-data-wrong 0.6, otherwise 0.05",
        again=("rm_accuracy",),
    ),
    ask(
        "do most groups have zero variance before anything is learned?",
        lies_above("reward_zero_std_frac", 0.6),
        "prompts-too-hard 0.9, samples-without-variety sampling-too-cold 0.8, groups-carry-no-signal 0.7, "
        "answers-misaligned answers-beside-other-prompts prompt-template-wrong 0.6, length-limit-too-short 0.4, "
        "otherwise 0.05",
        again=("reward_zero_std_frac",),
    ),
    ask(
        "is the reward on training prompts much lower than on the evaluation's prompts?",
        lies_apart("eval_score", "reward_mean", by=0.1),
        "prompts-too-hard answers-misaligned answers-beside-other-prompts prompt-template-wrong 0.9, "
        "sampler-differs-from-policy 0.6, tools-fail 0.4, outages-graded-as-failures 0.6, engines-disagree 0.4, "
        "reward-sign-wrong 0.5, otherwise 0.04",
        needs="eval_score",
        families=only(Policy.TEXT),
    ),
    ask(
        "is the reward on training prompts much higher than on the evaluation's prompts?",
        lies_apart("reward_mean", "eval_score", by=0.1),
        "prompts-too-narrow 0.8, evaluation-contaminated 0.2, reward-pays-for-form 0.8, reward-pays-for-calls 0.4, "
        "reward-pays-for-length 0.6, verifier-exploited 0.5, failures-graded-as-success 0.6, "
        "sampling-differs-from-scoring sampling-too-cold 0.4, otherwise 0.04",
        needs="eval_score",
        families=only(Policy.TEXT),
    ),
)
