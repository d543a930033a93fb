"""Steps of an environment, under the names of CleanRL's scripts, as the identities take them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ROLLOUT = {"rewards", "values", "next_value", "advantages", "gamma", "gae_lambda"}
ENDS = ("ended", "episode_starts", "dones")  #: the ends of episodes of a rollout
TARGETS = {"rewards", "dones", "next_values", "td_target", "gamma"}
UPDATE = {"newlogprob", "logprob"}
#: name of an input of the identities -> CleanRL's name
TD = {"td_rewards": "rewards", "td_ended": "dones", "td_next_values": "next_values", "td_targets": "td_target"}
STEP = {"step_rewards": "rewards", "step_values": "values", "step_advantages": "advantages", "step_targets": "returns"}
STAGES = ("rewards", "values", "advantages", "td_target", "logprob", "newlogprob")


def rolled(given: Mapping[str, Any]) -> dict[str, Any]:
    """What finds the rows of a minibatch again in a rollout; nothing where this is none."""
    if "logprobs" not in given or np.size(given["logprobs"]) != np.size(given.get("advantages", ())):
        return {}
    return {"rolled_logps": np.ravel(given["logprobs"]), "rolled_advantages": np.ravel(given["advantages"])}


def executed(given: Mapping[str, Any], done: Sequence[np.ndarray]) -> dict[str, Any]:
    """The actions of a rollout, and those that its environment was given meanwhile, where that is known."""
    if not len(done) or "actions" not in given:
        return {}
    stored = np.reshape(given["actions"], (len(given["actions"]), -1))
    if len(done) != len(stored) or any(np.size(row) != stored.shape[1] for row in done):
        return {}
    return {"stored_actions": stored, "done_actions": np.stack([np.ravel(row) for row in done]).astype(float)}


def shifted_of(given: Mapping[str, Any], seen: Sequence[np.ndarray]) -> bool | None:
    """Whether step t of a rollout ended an episode where `dones[t + 1]` is 1, as in CleanRL, or where `dones[t]` is.

    The ends that were `seen` in the environment tell, and an end in `next_done` that `dones` do not have. None: nothing does.
    """
    if not {"dones", "values", "next_done"} <= given.keys():
        return None
    here, last = np.reshape(given["dones"], (len(given["dones"]), -1)) != 0, np.ravel(given["next_done"]) != 0
    if len(seen) == len(here) and all(np.size(row) == here[0].size for row in seen):
        ends = np.stack(seen)
        shifted, plain = (int((table != ends).sum()) for table in (np.vstack([here[1:], last]), here))
        if shifted != plain:
            return shifted < plain
    return True if (last & ~here[-1]).any() else None


def _ends(given: Mapping[str, Any], shifted: bool | None) -> dict[str, Any]:
    """Which steps of a rollout ended an episode (T, n), and the other reading of `dones`, where nothing tells."""
    steps = len(given["rewards"])
    here = np.reshape(next(given[name] for name in ENDS if name in given), (steps, -1))
    if "ended" in given or ("episode_starts" not in given and shifted is False):
        return {"ended": here}
    moved = {"ended": np.concatenate([here[1:], np.reshape(given["next_done"], (1, -1))]), "begun": here}
    return moved if shifted or "episode_starts" in given else moved | {"ended_else": here}


def identities_of(given: Mapping[str, Any], rollout: Mapping[str, Any], shifted: bool | None) -> dict[str, Any]:
    """The inputs of the identities that can be measured on what is given: a rollout, targets of values, or one minibatch.

    `rollout`: what `rolled` gave for the rollout that a minibatch is of; `shifted`: what `shifted_of` told of `dones`.
    """
    named = given.keys()
    stages = [name for name in STAGES if name in named]
    made: dict[str, Any] = {"stages": {name: bool(np.isfinite(given[name]).all()) for name in stages}}
    if named >= ROLLOUT and ("ended" in named or ("next_done" in named and named & {*ENDS})):
        made |= _rollout(given) | _ends(given, shifted)
    if named >= TARGETS:
        made |= {ours: np.ravel(given[theirs]) for ours, theirs in TD.items()} | {"gamma": given["gamma"]}
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
    steps = len(given["rewards"])

    def table(name: str) -> np.ndarray:
        return np.reshape(given[name], (steps, -1))

    made = {ours: table(theirs) for ours, theirs in STEP.items() if theirs in given}
    return made | {"last_values": np.ravel(given["next_value"])} | {n: given[n] for n in ("gamma", "gae_lambda")}
