"""Measure what the environment does, from inside the training loop

## What is done
The learning rate is 0. Every 128 steps of the environments the hooks record how the observation changes with the action,
which observations episodes start with, and at which length a time limit ends an episode. The advantages of every batch are
computed a second time.

## What it tells
The policy does not change, so nothing may drift. The next observation must show the action, and the effect of an action
must stay the same. New episodes must start as earlier episodes did. A time limit must always come at the same length. The
advantages must be those of the recorded rewards and episode ends.

## When it misleads
Environments with inertia or noise react late or weakly. A curriculum changes the environment on purpose.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
https://arxiv.org/abs/1712.00378
"""

from functools import partial

from firstbreak.engine.families import Policy, only
from firstbreak.engine.questions import drifts, unless, watched
from firstbreak.knowledge.experiments._asked import ask, hooked

FAMILIES = only(Policy.CONTROL)  # only environments that are stepped through
OVERRIDES = {"learning_rate": 0.0, "watch": "environment"}
STAND_STILL = watched(lambda mean: mean["observation_constant"] > 0.02, "observation_constant")
BEGIN_OTHERWISE = drifts("start_spread", 2.0)
measured = partial(hooked, needs="environment")
QUESTIONS = (
    ask(
        "do parts of the observation never change?",
        STAND_STILL,
        "observations-wrong 0.5, otherwise 0.04",
        needs="environment",
    ),
    ask(
        "do new episodes start with different observations than earlier episodes?",
        BEGIN_OTHERWISE,
        "observations-wrong 0.6, environment-changed 0.3, otherwise 0.03",
        needs="environment",
    ),
    measured(
        "does the effect of an action appear later than in the next observation?",
        lambda action_shown, action_shown_at_once: action_shown > action_shown_at_once + 0.1,
        "observations-wrong 0.4, otherwise 0.04",
    ),
    measured(
        "does the action explain little of the change in the observation?",
        lambda action_shown: action_shown < 0.6,
        "actions-not-executed 0.9, environment-changed 0.2, healthy 0.1, otherwise 0.1",
    ),
    ask(
        "has the effect of an action changed while the observations look the same?",
        unless(drifts("action_effect", 1.5), STAND_STILL, BEGIN_OTHERWISE),
        "environment-changed 0.9, otherwise 0.04",
        needs="environment",
    ),
    measured(
        "do time limits end episodes at different lengths?",
        lambda limits_early: limits_early > 0,
        "termination-flags-wrong 0.9, episodes-end-wrongly 0.3, otherwise 0.03",
    ),
    measured(
        "is the reward of a single step very large?",
        lambda reward_size: reward_size > 20,
        "reward-scale-wrong 0.9, otherwise 0.03",
    ),
    ask(
        "has the reward of a step changed its size or its sign?",
        drifts("step_reward", 1.5),
        "reward-sign-wrong 0.8, reward-scale-wrong 0.2, otherwise 0.04",
        needs="environment",
    ),
    hooked(
        "do the advantages differ from those of the recorded rewards and episode ends?",
        lambda advantage_error: advantage_error > 0.02,
        "done-mask-wrong advantage-sign-wrong 0.95, otherwise 0.03",
        needs="advantages",
    ),
    hooked(
        "do the advantages have the wrong sign?",
        lambda advantage_turned: advantage_turned > 0.1,
        "advantage-sign-wrong 0.9, otherwise 0.03",
        needs="advantages",
    ),
)
