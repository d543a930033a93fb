"""Watch the trainer's process and the settings in force

## What is done
The learning rate is divided by 10000. The policy does not change in practice, but the learning rate of an optimizer can
still be compared with the configured one. The hooks record the learning rates of the optimizers, the settings that the
trainer uses, whether advantages agree with rewards, how long the process waits for a processor, and its memory.

## What it tells
The learning rate and the settings must be the configured ones, and none may be outside its usual range. Advantages must
have the sign of the rewards. Gradients must be finite. Nothing may grow or become slower while nothing is learned. Each
exception names one cause.

## When it misleads
A setting may be unusual on purpose. Other work on the same machine counts only if the steps of the original run were
unsteady as well; still, run the experiment on a machine where nothing else runs.

## References
https://arxiv.org/abs/2006.05990
https://docs.kernel.org/scheduler/sched-stats.html
"""

from firstbreak.engine.questions import (
    Question,
    both,
    grows,
    is_not_finite,
    never_clipped,
    rate_is,
    slows,
    was_unsteady,
    watched,
)
from firstbreak.knowledge.experiments._asked import hooked, setting

OVERRIDES = {"learning_rate": "/10000", "value_learning_rate?": "/10000", "watch": "process"}
QUESTIONS = (
    Question(
        asks="does an optimizer use a higher learning rate than the configured one?",
        answer=rate_is(lambda least, largest: largest > 1.5),
        needs="process",
        instead=("learning_rate",),
        yes={"step-size-too-large": 0.9},
        otherwise=0.02,
    ),
    Question(
        asks="do all optimizers use a learning rate far below the configured one?",
        answer=rate_is(lambda least, largest: largest < 0.3),
        needs="process",
        yes={"optimiser-not-connected": 0.9},
        otherwise=0.02,
    ),
    Question(
        asks="does one of several optimizers use a learning rate far below the configured one?",
        answer=rate_is(lambda least, largest: least < 0.3 <= largest),
        needs="process",
        yes={"critic-cannot-fit": 0.4, "critic-not-trained": 0.4},
        otherwise=0.02,
    ),
    Question(
        asks="is the gradient norm not finite at any step?",
        answer=is_not_finite("grad_norm"),
        again=("grad_norm",),
        yes={"gradients-not-finite": 0.95, "gradients-explode": 0.1},
        otherwise=0.02,
    ),
    Question(
        asks="did the original run have very large ratios that were not clipped?",
        answer=never_clipped,
        needs="policy_ratio_max",
        again=("policy_ratio_max", "policy_clip_fraction"),
        yes={"clip-missing": 0.9, "old-log-probabilities-wrong": 0.2},
        otherwise=0.03,
    ),
    setting(
        "is the clip range larger than 1, or off?",
        "clip_range",
        above=1,
        off=True,
        yes={"clip-missing": 0.9},
        otherwise=0.02,
    ),
    setting(
        "is the weight of the value loss below 0.1?",
        "value_coef",
        below=0.1,
        yes={"critic-cannot-fit": 0.8, "critic-not-trained": 0.6},
        otherwise=0.03,
    ),
    setting(
        "are the behaviour importance weights not capped?",
        "behave_weight_cap",
        above=50,
        off=True,
        yes={"behaviour-weights-uncapped": 0.95},
        otherwise=0.03,
    ),
    setting(
        "may rollouts be four or more policy versions old?",
        "max_staleness",
        least=4,
        yes={"rollouts-too-old": 0.9, "behaviour-weights-uncapped": 0.7},
        otherwise=0.03,
    ),
    setting(
        "is the weight of the entropy bonus negative?",
        "entropy_coef",
        below=0,
        yes={"premature-convergence": 0.8},
        otherwise=0.01,
    ),
    setting(
        "is the entropy bonus large?", "entropy_coef", least=0.04, yes={"entropy-bonus-too-strong": 0.9}, otherwise=0.03
    ),
    setting("is the KL penalty large?", "kl_coef", least=0.5, yes={"kl-penalty-too-strong": 0.9}, otherwise=0.03),
    setting("is the discount factor small?", "gamma", below=0.95, yes={"horizon-too-short": 0.9}, otherwise=0.02),
    setting(
        "is the sampling temperature low?", "temperature", below=0.5, yes={"sampling-too-cold": 0.9}, otherwise=0.02
    ),
    setting(
        "does top-p sampling cut off part of the distribution?",
        "top_p",
        below=0.95,
        yes={"sampling-differs-from-scoring": 0.5, "sampling-too-cold": 0.2},
        otherwise=0.03,
    ),
    hooked(
        "do the advantages have the opposite sign of the rewards?",
        lambda advantage_agrees: advantage_agrees < -0.05,
        yes={"advantage-sign-wrong": 0.95, "groups-mixed": 0.05},
        otherwise=0.02,
    ),
    Question(
        asks="do other processes use the processor, now and in the original run?",
        answer=both(watched(lambda mean: mean["queued"] > 0.4, "queued"), was_unsteady("time_train", 1.6)),
        needs="time_train",
        yes={"interference": 0.95},
        otherwise=0.03,
    ),
    Question(
        asks="does memory use grow although nothing is learned?",
        answer=grows("resident", 0.045),
        needs="process",
        yes={"memory-leak": 0.9, "memory-at-its-limit": 0.02},
        otherwise=0.05,
    ),
    Question(
        asks="does the rollout become slower although the policy does not change?",
        answer=slows("time_rollout", 1.5),
        again=("time_rollout",),
        yes={
            "phases-out-of-balance": 0.9,
            "interference": 0.6,
            "length-limit-too-short": 0.1,
            "scoring-too-slow": 0.02,
        },
        otherwise=0.06,
    ),
)
