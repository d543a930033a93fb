"""rlkit and what grew from it (CQL, AWAC, PEARL): progress.csv, one row per epoch.

Source: rlkit/core/rl_algorithm.py, core/eval_util.py, samplers/data_collector/path_collector.py, torch/sac/sac.py
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "rlkit"

MARKS = frozenset(
    {
        "evaluation/Average Returns",
        "evaluation/Returns Mean",
        "evaluation/num steps total",
        "evaluation/path length Mean",
        "exploration/Average Returns",
        "exploration/Returns Mean",
        "exploration/num steps total",
        "trainer/QF1 Loss",
        "trainer/Q1 Predictions Mean",
        "trainer/Log Pis Mean",
        "replay_buffer/size",
        "time/epoch (s)",
    }
)

AXIS = ("exploration/num steps total", "Epoch", "epoch")

_MOMENTS = {"Mean": "mean", "Std": "std", "Max": "max", "Min": "min"}

NAMES: dict[str, str | Name] = {
    # returns
    "evaluation/Average Returns": "eval.reward",
    **{f"evaluation/Returns {raw}": f"eval.reward.{moment}" for raw, moment in _MOMENTS.items() if raw != "Mean"},
    "evaluation/path length Mean": "eval.episode_length",
    "exploration/Average Returns": "reward.mean",
    **{f"exploration/Returns {raw}": f"reward.{moment}" for raw, moment in _MOMENTS.items() if raw != "Mean"},
    **{f"exploration/Rewards {raw}": f"reward.step.{moment}" for raw, moment in _MOMENTS.items()},
    "exploration/path length Mean": "episode.length",
    # the policy
    "trainer/Policy Loss": Name("policy.loss", note="minus a Q value: follows the scale of Q, lower is not better"),
    "trainer/Log Pis Mean": Name("policy.entropy", -1.0, "minus the mean log-probability of sampled actions"),
    "trainer/Alpha": "alpha",
    "trainer/Alpha Loss": "alpha.loss",
    # the critic
    "trainer/QF1 Loss": "value.loss",
    "trainer/QF2 Loss": "value.loss@q2",
    "trainer/QF Loss": "value.loss",
    **{f"trainer/Q1 Predictions {raw}": f"value.{moment}" for raw, moment in _MOMENTS.items()},
    **{f"trainer/Q2 Predictions {raw}": f"value.{moment}@q2" for raw, moment in _MOMENTS.items()},
    **{f"trainer/Q Targets {raw}": f"value.target.{moment}" for raw, moment in _MOMENTS.items()},
    # progress
    "exploration/num steps total": "progress.env_steps",
    "Epoch": "progress.iterations",
    "epoch": "progress.iterations",
    "trainer/num train calls": "progress.updates",
    "time/epoch (s)": "time.iteration",
    "time/total (s)": "time.elapsed",
}

CONFIG = {
    "policy_lr": "learning_rate",
    "qf_lr": "value_learning_rate",
    "discount": "gamma",
    "soft_target_tau": "tau",
    "target_update_period": "target_update_interval",
    "replay_buffer_size": "buffer_size",
    "batch_size": "minibatch_size",
    "seed": "seed",
}

LOG = {"eval.reward": "logged each epoch as `evaluation/Average Returns`"}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """Soft actor-critic and its offshoots log log-probabilities, the others do not."""
    if names & {"trainer/Alpha", "trainer/Log Pis Mean"}:
        return "sac"
    return "td3" if "trainer/QF2 Loss" in names else "dqn" if "trainer/QF Loss" in names else None
