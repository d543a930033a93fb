"""What the environment does, seen from the training loop

## What is done
The learning rate is 0, and the hooks describe every 128 steps of the environments: how observations change with the action,
with which observations episodes begin, at which lengths time limits end them; and every batch's advantages are worked out again.

## What it tells
With the policy held still nothing may drift. An action shows in the next observation and has the effect it had before;
fresh episodes begin as before; a time limit always comes at the same length; advantages are those of the recorded ends.

## When it misleads
Environments with inertia or noise of their own answer late or weakly; curricula change on purpose.

## References
https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
https://arxiv.org/abs/1712.00378
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, drifts, unless, watched
from firstbreak.inputs import Inputs

OVERRIDES = {"learning_rate": 0.0, "watch": "environment"}
STAND_STILL = watched(lambda mean: mean["observation_constant"] > 0.02, "observation_constant")
BEGIN_OTHERWISE = drifts("start_spread", 2.0)
QUESTIONS = (
    Question(
        asks="do parts of the observation stand still?",
        answer=STAND_STILL,
        needs="environment",
        yes={"observations-wrong": 0.5},
        otherwise=0.04,
    ),
    Question(
        asks="do fresh episodes begin with other observations than before?",
        answer=BEGIN_OTHERWISE,
        needs="environment",
        yes={"observations-wrong": 0.6, "environment-changed": 0.3},
        otherwise=0.03,
    ),
    Question(
        asks="does an action show later than in the next observation?",
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
        asks="does an action explain little of what it moves?",
        answer=watched(lambda mean: mean["action_shown"] < 0.6, "action_shown"),
        needs="environment",
        yes={"actions-not-executed": 0.9, "environment-changed": 0.2, "healthy": 0.1},
        otherwise=0.1,
    ),
    Question(
        asks="does an action have another effect than before, in observations that are as before?",
        answer=unless(drifts("action_effect", 1.5), STAND_STILL, BEGIN_OTHERWISE),
        needs="environment",
        yes={"environment-changed": 0.9},
        otherwise=0.04,
    ),
    Question(
        asks="do time limits come at different lengths?",
        answer=watched(lambda mean: mean["limits_early"] > 0, "limits_early"),
        needs="environment",
        yes={"termination-flags-wrong": 0.9, "episodes-end-wrongly": 0.3},
        otherwise=0.03,
    ),
    Question(
        asks="are the rewards of single steps very large?",
        answer=watched(lambda mean: mean["reward_size"] > 20, "reward_size"),
        needs="environment",
        yes={"reward-scale-wrong": 0.9},
        otherwise=0.03,
    ),
    Question(
        asks="does a step earn otherwise than before, or with the other sign?",
        answer=drifts("step_reward", 1.5),
        needs="environment",
        yes={"reward-sign-wrong": 0.8, "reward-scale-wrong": 0.2},
        otherwise=0.04,
    ),
    Question(
        asks="are the advantages others than those of the recorded rewards and ends?",
        answer=watched(lambda mean: mean["advantage_error"] > 0.02, "advantage_error"),
        needs="advantages",
        yes={"done-mask-wrong": 0.95, "advantage-sign-wrong": 0.95},
        otherwise=0.03,
    ),
    Question(
        asks="are they turned round?",
        answer=watched(lambda mean: mean["advantage_turned"] > 0.1, "advantage_turned"),
        needs="advantages",
        yes={"advantage-sign-wrong": 0.9},
        otherwise=0.03,
    ),
)


def applies(inputs: Inputs) -> bool:
    """Only environments that are stepped through."""
    return not inputs.get("writes_text")
