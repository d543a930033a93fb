"""Steps of an environment, under the names of CleanRL's scripts, as the identities take them."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

ROLLOUT = {"rewards", "values", "next_value", "advantages", "gamma", "gae_lambda"}
ENDS = ("ended", "episode_starts", "dones")  #: the ends of episodes of a rollout
SUMS = {"rewards", "returns", "gamma"}
TARGETS = {"rewards", "dones", "next_values", "td_target", "gamma"}
UPDATE = {"newlogprob", "logprob"}
#: name of an input of the identities -> CleanRL's name
TD = {"td_rewards": "rewards", "td_ended": "dones", "td_next_values": "next_values", "td_targets": "td_target"}
STEP = {"step_rewards": "rewards", "step_values": "values", "step_advantages": "advantages", "step_targets": "returns"}
#: the same of a row of a replay buffer, and of a critic's loss
REPLAY = {"row_obs": "obs", "row_next": "next_obs", "row_actions": "actions"}
CRITIC = {"critic_values": ("newvalue", "old_val"), "critic_targets": ("returns", "td_target")}
STAGES = ("rewards", "values", "advantages", "td_target", "logprob", "newlogprob")


def rolled(given: Mapping[str, Any]) -> dict[str, Any]:
    """What finds the rows of a minibatch again in a rollout; nothing where this is none."""
    if "logprobs" not in given or np.size(given["logprobs"]) != np.size(given.get("advantages", ())):
        return {}
    return {"rolled_logps": np.ravel(given["logprobs"]), "rolled_advantages": np.ravel(given["advantages"])}


def executed(given: Mapping[str, Any], done: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Actions, rewards and ends of a rollout, and those that its environment saw meanwhile, where that is known."""
    if not done:
        return {}
    shape, made = done["reward"].shape, dict[str, Any]()
    acted = done.get("action", np.zeros(0))
    if acted.size and np.size(given.get("actions", ())) == acted.size:
        acted = acted[..., 0] if acted.shape[-1] == 1 else acted
        made |= {"stored_actions": np.reshape(given["actions"], acted.shape), "done_actions": acted}
    if np.size(given.get("rewards", ())) == done["reward"].size:
        made |= {"stored_rewards": np.reshape(given["rewards"], shape), "done_rewards": done["reward"]}
    ends = [np.reshape(given[name], shape) for name in ENDS if np.size(given.get(name, ())) == done["reward"].size]
    if ends:
        last = np.reshape(given.get("next_done", np.ones(shape[1])), (1, -1))
        counted = len(ends[0]) - (
            "next_value" not in given
        )  # without a value that goes on, the last end changes nothing
        failed = done["failed"] * (np.arange(len(ends[0])) < counted)[:, None]
        made |= {"flagged": (ends[0], np.vstack([ends[0][1:], last])), "failed": failed}
    return made


def shifted_of(given: Mapping[str, Any], done: Mapping[str, np.ndarray]) -> bool | None:
    """Whether step t of a rollout ended an episode where `dones[t + 1]` is 1, as in CleanRL, or where `dones[t]` is.

    The ends that the environment has `done` tell, an end in `next_done` that `dones` do not have, and one that both have for
    all environments: the last step's. None: nothing does.
    """
    if not {"dones", "values", "next_done"} <= given.keys():
        return None
    here, last = np.reshape(given["dones"], (len(given["dones"]), -1)) != 0, np.ravel(given["next_done"]) != 0
    if done and done["reward"].shape == here.shape:
        ends = (done["failed"] != 0) | (done["cut"] != 0)
        shifted, plain = (int((table != ends).sum()) for table in (np.vstack([here[1:], last]), here))
        if shifted != plain:
            return shifted < plain
    if (last & ~here[-1]).any():
        return True
    return False if last.any() and (last == here[-1]).all() and not here.all() else None


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
    elif named >= SUMS and "values" not in named and np.size(given["returns"]) == np.size(given["rewards"]):
        steps = len(given["rewards"])
        ends = [np.reshape(given[name], (steps, -1)) for name in ENDS if name in named]
        last = np.reshape(given.get("next_done", np.ones(np.size(given["rewards"]) // steps)), (1, -1))
        made |= {ours: np.reshape(given[n], (steps, -1)) for ours, n in (("paid", "rewards"), ("sums", "returns"))}
        made |= {"gamma": given["gamma"], "ends": (ends[0], np.vstack([ends[0][1:], last])) if ends else ()}
    if named >= TARGETS:
        made |= {ours: np.ravel(given[theirs]) for ours, theirs in TD.items()} | {"gamma": given["gamma"]}
        made |= {ours: np.reshape(given[n], (len(given[n]), -1)) for ours, n in REPLAY.items() if n in named}
    led = given.get("value_gradient", None if named & {"advantages", "newlogprob"} else given.get("gradient"))
    if led is not None:
        made["critic_gradient"] = np.ravel(led)
        made |= {ours: np.ravel(given[n]) for ours, names in CRITIC.items() for n in names if n in named}
    if named >= UPDATE:
        new, old = (np.reshape(given[name], (-1, 1)) for name in ("newlogprob", "logprob"))
        made |= {"logps": new, "old_logps": old, "mask": np.ones_like(new), "fresh": bool(given.get("fresh", False))}
        if "entropy" in named:
            made["entropies"] = np.reshape(given["entropy"], (-1, 1))
        if rollout and np.size(given.get("advantages", ())) == len(old):
            made |= {**rollout, "row_logps": np.ravel(old), "row_advantages": np.ravel(given["advantages"])}
        if "ratio" in named:
            made["ratio"] = np.reshape(given["ratio"], (-1, 1))
    if "gradient" in named and np.size(given.get("advantages", ())) == np.size(given["gradient"]):
        made |= {"gradient": np.reshape(given["gradient"], (-1, 1)), "advantages": np.ravel(given["advantages"])}
    if (m := np.size(given.get("newlogprob", ()))) > 1 and np.shape(given.get("advantages", ())) == (m, m):
        made["square"] = given["advantages"]
    if "clip_coef" in named:
        made["clip"] = float(given["clip_coef"])
    return made


def clipped(given: Mapping[str, Any], spaces: Sequence[Any]) -> dict[str, Any]:
    """The stored continuous actions (m, k) of a rollout with log-probabilities, and their range in the first environment."""
    low, high = (np.ravel(getattr(space, end, ())) for space in spaces[:1] or [None] for end in ("low", "high"))
    if not low.size or not {"logprobs", "actions"} <= given.keys() or np.size(given["actions"]) % low.size:
        return {}
    return {"drawn": np.reshape(given["actions"], (-1, low.size)).astype(np.float32), "bounds": (low, high)}


def _rollout(given: Mapping[str, Any]) -> dict[str, Any]:
    steps = len(given["rewards"])

    def table(name: str) -> np.ndarray:
        return np.reshape(given[name], (steps, -1))

    made = {ours: table(theirs) for ours, theirs in STEP.items() if theirs in given}
    return made | {"last_values": np.ravel(given["next_value"])} | {n: given[n] for n in ("gamma", "gae_lambda")}
