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

from firstbreak.engine.families import Policy, only
from firstbreak.engine.questions import Question, drifts, unless, watched

FAMILIES = only(Policy.CONTROL)  # only environments that are stepped through
OVERRIDES = {"learning_rate": 0.0, "watch": "environment"}
STAND_STILL = watched(lambda mean: mean["observation_constant"] > 0.02, "observation_constant")
BEGIN_OTHERWISE = drifts("start_spread", 2.0)
QUESTIONS = (
    Question(
        asks="do parts of the observation never change?",
        answer=STAND_STILL,
        needs="environment",
        yes={"observations-wrong": 0.5},
        otherwise=0.04,
    ),
    Question(
        asks="do new episodes start with different observations than earlier episodes?",
        answer=BEGIN_OTHERWISE,
        needs="environment",
        yes={"observations-wrong": 0.6, "environment-changed": 0.3},
        otherwise=0.03,
    ),
    Question(
        asks="does the effect of an action appear later than in the next observation?",
        answer=watched(
            lambda mean: mean["action_shown"] > mean["action_shown_at_once"] + 0.1,
            "action_shown",
            "action_shown_at_once",
        ),
        needs="environment",
        yes={"observations-wrong": 0.4},
        otherwise=0.04,
    ),
    Question(
        asks="does the action explain little of the change in the observation?",
        answer=watched(lambda mean: mean["action_shown"] < 0.6, "action_shown"),
        needs="environment",
        yes={"actions-not-executed": 0.9, "environment-changed": 0.2, "healthy": 0.1},
        otherwise=0.1,
    ),
    Question(
        asks="has the effect of an action changed while the observations look the same?",
        answer=unless(drifts("action_effect", 1.5), STAND_STILL, BEGIN_OTHERWISE),
        needs="environment",
        yes={"environment-changed": 0.9},
        otherwise=0.04,
    ),
    Question(
        asks="do time limits end episodes at different lengths?",
        answer=watched(lambda mean: mean["limits_early"] > 0, "limits_early"),
        needs="environment",
        yes={"termination-flags-wrong": 0.9, "episodes-end-wrongly": 0.3},
        otherwise=0.03,
    ),
    Question(
        asks="is the reward of a single step very large?",
        answer=watched(lambda mean: mean["reward_size"] > 20, "reward_size"),
        needs="environment",
        yes={"reward-scale-wrong": 0.9},
        otherwise=0.03,
    ),
    Question(
        asks="has the reward of a step changed its size or its sign?",
        answer=drifts("step_reward", 1.5),
        needs="environment",
        yes={"reward-sign-wrong": 0.8, "reward-scale-wrong": 0.2},
        otherwise=0.04,
    ),
    Question(
        asks="do the advantages differ from those of the recorded rewards and episode ends?",
        answer=watched(lambda mean: mean["advantage_error"] > 0.02, "advantage_error"),
        needs="advantages",
        yes={"done-mask-wrong": 0.95, "advantage-sign-wrong": 0.95},
        otherwise=0.03,
    ),
    Question(
        asks="do the advantages have the wrong sign?",
        answer=watched(lambda mean: mean["advantage_turned"] > 0.1, "advantage_turned"),
        needs="advantages",
        yes={"advantage-sign-wrong": 0.9},
        otherwise=0.03,
    ),
)
