"""Steps of an environment, under the names of CleanRL's scripts, as the identities take them."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

ROLLOUT = {"rewards", "values", "dones", "next_done", "next_value", "advantages", "gamma", "gae_lambda"}
TARGETS = {"rewards", "dones", "next_values", "td_target", "gamma"}
UPDATE = {"newlogprob", "logprob"}
STAGES = ("rewards", "values", "advantages", "td_target", "logprob", "newlogprob")


def rolled(given: Mapping[str, Any]) -> dict[str, Any]:
    """What finds the rows of a minibatch again in a rollout; nothing where this is none."""
    if "logprobs" not in given or np.size(given["logprobs"]) != np.size(given.get("advantages", ())):
        return {}
    return {"rolled_logps": np.ravel(given["logprobs"]), "rolled_advantages": np.ravel(given["advantages"])}


def executed(given: Mapping[str, Any], done: Sequence[np.ndarray]) -> dict[str, Any]:
    """The actions of a rollout, and those that its environment was given meanwhile, where that is known."""
    if not len(done):
        return {}
    stored = np.reshape(given["actions"], (len(given["actions"]), -1))
    if len(done) != len(stored) or any(np.size(row) != stored.shape[1] for row in done):
        return {}
    return {"stored_actions": stored, "done_actions": np.stack([np.ravel(row) for row in done]).astype(float)}


def identities_of(given: Mapping[str, Any], rollout: Mapping[str, Any] = MappingProxyType({})) -> dict[str, Any]:
    """The inputs of the identities that can be measured on what is given: a rollout, targets of values, or one minibatch.

    `rollout`: what `rolled` gave for the rollout that a minibatch is of.
    """
    named = given.keys()
    stages = [name for name in STAGES if name in named]
    made: dict[str, Any] = {"stages": {name: bool(np.isfinite(given[name]).all()) for name in stages}}
    if named >= ROLLOUT:
        made |= _rollout(given)
    if named >= TARGETS:
        parts = {
            "td_rewards": "rewards",
            "td_ended": "dones",
            "td_next_values": "next_values",
            "td_targets": "td_target",
        }
        made |= {ours: np.ravel(given[theirs]) for ours, theirs in parts.items()} | {"gamma": given["gamma"]}
    if named >= UPDATE:
        new, old = (np.reshape(given[name], (-1, 1)) for name in ("newlogprob", "logprob"))
        made |= {"logps": new, "old_logps": old, "mask": np.ones_like(new), "fresh": bool(given.get("fresh", False))}
        if "entropy" in named:
            made["entropies"] = np.reshape(given["entropy"], (-1, 1))
        if rollout and np.size(given.get("advantages", ())) == len(old):
            made |= {**rollout, "row_logps": np.ravel(old), "row_advantages": np.ravel(given["advantages"])}
        if "ratio" in named:
            made["ratio"] = np.reshape(given["ratio"], (-1, 1))
    if "gradient" in named and "advantages" in named:
        made |= {"gradient": np.reshape(given["gradient"], (-1, 1)), "advantages": np.ravel(given["advantages"])}
    if "clip_coef" in named:
        made["clip"] = float(given["clip_coef"])
    return made


def _rollout(given: Mapping[str, Any]) -> dict[str, Any]:
    """`dones[t]` says whether the observation before step t began an episode, so step t ended one where `dones[t + 1]` is 1."""
    steps = len(given["rewards"])

    def table(name: str) -> np.ndarray:
        return np.reshape(given[name], (steps, -1))

    ended = np.concatenate([table("dones")[1:], np.reshape(given["next_done"], (1, -1))])
    parts = {
        "step_rewards": "rewards",
        "step_values": "values",
        "step_advantages": "advantages",
        "step_targets": "returns",
    }
    made = {ours: table(theirs) for ours, theirs in parts.items() if theirs in given}
    return made | {
        "ended": ended,
        "begun": table("dones"),
        "last_values": np.ravel(given["next_value"]),
        "gamma": given["gamma"],
        "gae_lambda": given["gae_lambda"],
    }
