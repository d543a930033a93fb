"""TD3 (sfujim) and its descendants: a NumPy array of evaluation returns, one every 5,000 environment steps."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

from firstbreak.dialects import Name

TITLE = "TD3"

MARKS: frozenset[str] = frozenset()
ALONE = frozenset({"value"})  # an array has no names; see readers/npy.py

NAMES: dict[str, str | Name] = {
    "value": Name("eval.reward", note="mean return of 10 episodes, one evaluation every 5,000 steps by default"),
}

DEFAULTS: dict[str, dict[str, Any]] = {
    "": {
        "minibatch_size": 256,
        "gamma": 0.99,
        "tau": 0.005,
        "policy_delay": 2,
        "action_noise": 0.1,
        "learning_starts": 25_000,
        "learning_rate": 3e-4,
        "eval_interval": 5_000,
    }
}

LOG = {
    "reward.mean": "log the return of each training episode beside the evaluation",
    "value.loss": "log critic_loss in TD3.train",
    "value.mean": "log current_Q1.mean() in TD3.train: it shows overestimation",
    "policy.loss": "log actor_loss in TD3.train",
}


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The repository's own method."""
    return "td3"
