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

from firstbreak.engine.questions import both, grows, is_not_finite, never_clipped, rate_is, slows, was_unsteady, watched
from firstbreak.knowledge.experiments._asked import ask, hooked, setting

OVERRIDES = {"learning_rate": "/10000", "value_learning_rate?": "/10000", "watch": "process"}
QUESTIONS = (
    ask(
        "does an optimizer use a higher learning rate than the configured one?",
        rate_is(lambda least, largest: largest > 1.5),
        "step-size-too-large 0.9, otherwise 0.02",
        needs="process",
        instead=("learning_rate",),
    ),
    ask(
        "do all optimizers use a learning rate far below the configured one?",
        rate_is(lambda least, largest: largest < 0.3),
        "optimiser-not-connected 0.9, otherwise 0.02",
        needs="process",
    ),
    ask(
        "does one of several optimizers use a learning rate far below the configured one?",
        rate_is(lambda least, largest: least < 0.3 <= largest),
        "critic-cannot-fit critic-not-trained 0.4, otherwise 0.02",
        needs="process",
    ),
    ask(
        "is the gradient norm not finite at any step?",
        is_not_finite("grad_norm"),
        "gradients-not-finite 0.95, gradients-explode 0.1, otherwise 0.02",
        again=("grad_norm",),
    ),
    ask(
        "did the original run have very large ratios that were not clipped?",
        never_clipped,
        "clip-missing 0.9, old-log-probabilities-wrong 0.2, otherwise 0.03",
        needs="policy_ratio_max",
        again=("policy_ratio_max", "policy_clip_fraction"),
    ),
    setting(
        "is the clip range larger than 1, or off?", "clip_range", "clip-missing 0.9, otherwise 0.02", above=1, off=True
    ),
    setting(
        "is the weight of the value loss below 0.1?",
        "value_coef",
        "critic-cannot-fit 0.8, critic-not-trained 0.6, otherwise 0.03",
        below=0.1,
    ),
    setting(
        "are the behaviour importance weights not capped?",
        "behave_weight_cap",
        "behaviour-weights-uncapped 0.95, otherwise 0.03",
        above=50,
        off=True,
    ),
    setting(
        "may rollouts be four or more policy versions old?",
        "max_staleness",
        "rollouts-too-old 0.9, behaviour-weights-uncapped 0.7, otherwise 0.03",
        least=4,
    ),
    setting(
        "is the weight of the entropy bonus negative?",
        "entropy_coef",
        "premature-convergence 0.8, otherwise 0.01",
        below=0,
    ),
    setting("is the entropy bonus large?", "entropy_coef", "entropy-bonus-too-strong 0.9, otherwise 0.03", least=0.04),
    setting("is the KL penalty large?", "kl_coef", "kl-penalty-too-strong 0.9, otherwise 0.03", least=0.5),
    setting("is the discount factor small?", "gamma", "horizon-too-short 0.9, otherwise 0.02", below=0.95),
    setting("is the sampling temperature low?", "temperature", "sampling-too-cold 0.9, otherwise 0.02", below=0.5),
    setting(
        "does top-p sampling cut off part of the distribution?",
        "top_p",
        "sampling-differs-from-scoring 0.5, sampling-too-cold 0.2, otherwise 0.03",
        below=0.95,
    ),
    hooked(
        "do the advantages have the opposite sign of the rewards?",
        lambda advantage_agrees: advantage_agrees < -0.05,
        "advantage-sign-wrong 0.95, groups-mixed 0.05, otherwise 0.02",
    ),
    ask(
        "do other processes use the processor, now and in the original run?",
        both(watched(lambda mean: mean["queued"] > 0.4, "queued"), was_unsteady("time_train", 1.6)),
        "interference 0.95, otherwise 0.03",
        needs="time_train",
    ),
    ask(
        "does memory use grow although nothing is learned?",
        grows("resident", 0.045),
        "memory-leak 0.9, memory-at-its-limit 0.02, otherwise 0.05",
        needs="process",
    ),
    ask(
        "does the rollout become slower although the policy does not change?",
        slows("time_rollout", 1.5),
        "phases-out-of-balance 0.9, interference 0.6, length-limit-too-short 0.1, scoring-too-slow 0.02, "
        "otherwise 0.06",
        again=("time_rollout",),
    ),
)
