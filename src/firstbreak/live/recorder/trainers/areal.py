"""AReaL: the batch whose advantages were computed and the first loss of its update, both in the actor's process.

The names are those of AReaL 1.0.4. A normalisation that is not known here leaves its identity out.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.measuring import Price
from firstbreak.live.recorder.seams import Looking, Seam
from firstbreak.live.recorder.trainers._common import (
    ActorUpdate,
    array,
    beginning,
    finite,
    on_gradient,
    side_by_side,
    turns,
)

LARGEST = 10.0  #: nats, of a token's divergence
KEPT = ("loss_mask", "logprobs", "prox_logp", "ref_logp", "versions")
STAGES = {
    "rewards": "the rewards",
    "values": "the critic's values",
    "logprobs": "the engine's log-probabilities",
    "prox_logp": "the stored log-probabilities",
    "ref_logp": "the reference's log-probabilities",
    "advantages": "the advantages",
}


UPDATE = ActorUpdate()  #: its number is that of the weights it makes


def _advantages(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The batch of an update, when its advantages are known."""
    actor, data = given["self"], given["data"]
    version = int(actor.engine.get_version())
    if not record.due(version + 1, Price.LOOK):
        return
    with record.measuring(Price.LOOK, version + 1):  # AReaL changes these on the way
        before = {name: array(data[name]) for name in KEPT if data.get(name) is not None}
    made = yield
    with record.measuring(Price.LOOK, version + 1):
        record.batch(version + 1, **_batch(made, before, actor, version))


def _batch(data: Mapping[str, Any], before: Mapping[str, Any], actor: Any, version: int) -> dict[str, Any]:
    """Everything in the places of the loss: what stands at a place is of the next token."""
    mask, attended = _moved(before["loss_mask"]), array(data["attention_mask"])
    sampled = mask.copy() if turns(mask) else _moved(attended) * (np.cumsum(mask, axis=1) > 0)
    sampled[:, -1] = 0  # has no next token
    made: dict[str, Any] = {
        "stages": finite({said: data.get(name) for name, said in STAGES.items()}),
        "mask": array(data["loss_mask"]),
        "lengths": sampled,
        "exempt": (mask.sum(1) == 0).astype(float),
        "prompts": _prompts(data, before["loss_mask"]),
    }
    trained = before.get("prox_logp")
    if "versions" in before:
        made |= {"versions": _moved(before["versions"]), "version": float(version)}
    if trained is not None:
        made |= {"engine_logps": _moved(before["logprobs"]), "trainer_logps": trained}
    if trained is not None and "ref_logp" in before:
        made |= {"logps": trained, "ref_logps": before["ref_logp"], "untrained": version == 0}
    return made | _estimated(data, attended, mask, actor)


def _estimated(data: Mapping[str, Any], attended: np.ndarray, mask: np.ndarray, actor: Any) -> dict[str, Any]:
    """What the advantages are worked out from: the tokens' rewards, and what a completion is paid at its end."""
    if actor.adv_norm is not None and "group" in (actor.adv_norm.mean_level, actor.adv_norm.std_level):
        return {}
    token_rewards = array(data["tot_rewards"]) * (mask != 0)
    penalties = _penalties(data, actor) * (mask != 0)
    rows, last = np.arange(len(mask)), mask.shape[1] - 1 - np.argmax(mask[:, ::-1] != 0, axis=1)
    paid = token_rewards.sum(1) + penalties.sum(1)
    found: dict[str, Any] = {
        "advantages": data["advantages"],
        "discount": float(actor.discount),
        "gae_lambda": float(actor.gae_lambda),
        "centred": actor.adv_norm is not None and actor.adv_norm.mean_level == "batch" and not side_by_side(),
    }
    cut = attended.sum(1) == attended.shape[1]
    if data.get("values") is not None:
        values = array(data["values"])
        token_rewards[rows, last] += cut * actor.discount * values[:, -1]  # what a cut completion would still get
        found |= {"values": values, "targets": data["returns"]}
    found["token_rewards"] = token_rewards
    return found | _compared(data, paid, penalties, cut, actor)


def _penalties(data: Mapping[str, Any], actor: Any) -> np.ndarray:
    """What the divergence from the reference costs: worked out again, or as AReaL has it for its other estimators."""
    if actor.kl_estimator.kl_estimator != "k1" or data.get("ref_logp") is None:
        return -array(data["kl_rewards"])
    away = array(data["logprobs"]) - array(data["ref_logp"])
    return np.asarray(actor.kl_ctl * np.clip(away, -LARGEST, LARGEST))


def _compared(
    data: Mapping[str, Any], paid: np.ndarray, penalties: np.ndarray, cut: np.ndarray, actor: Any
) -> dict[str, Any]:
    """What the completions' rewards were compared with, where that can be seen from here."""
    norm = actor.reward_norm
    if cut.any() and (actor.mask_no_eos_with_zero or data.get("values") is not None):
        return {}  # cut completions get something else
    scored = (array(data["rewards"]) + actor.reward_bias) * actor.reward_scaling
    rewards = np.clip(scored, -actor.reward_clip, actor.reward_clip)
    if norm is None:
        return {"rewards": rewards, "penalties": penalties, "group": float(len(paid)), "prompts": None}
    level, size = norm.mean_level, int(norm.group_size)
    if level == "group" and size > 1 and len(paid) % size == 0:
        return {"rewards": rewards, "penalties": penalties, "group": float(size)}
    if level == "batch" and norm.std_level != "group" and not side_by_side():
        return {"rewards": rewards, "penalties": penalties, "group": float(len(paid)), "prompts": None}
    return {}


def _moved(table: np.ndarray) -> np.ndarray:
    """As AReaL moves what belongs to a token to the place before it."""
    return np.roll(table, -1, axis=1)


def _prompts(data: Mapping[str, Any], mask: np.ndarray) -> list[str]:
    """The tokens before the first one that counts."""
    ids, first = array(data["input_ids"]).astype(int), np.argmax(mask != 0, axis=1)
    return [" ".join(map(str, row[:end])) for row, end in zip(ids.tolist(), first.tolist(), strict=True)]


def _loss(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The first loss of an update, before any optimizer step of it, and its gradient."""
    step, sampled, data = UPDATE.number, given["logprobs"], given["input_data"]
    if not UPDATE.first(record, sampled):
        return
    made = yield
    ends = data.get("cu_seqlens")

    def table(tensor: Any) -> np.ndarray:
        """One row for each sequence, of a tensor in which all follow each other."""
        flat = array(tensor)
        if flat.ndim == 2:
            return flat
        parts = np.split(flat, [] if ends is None else ends.tolist()[1:-1])
        return np.stack([np.pad(part, (0, max(map(len, parts)) - len(part))) for part in parts])

    with record.measuring(Price.LOOK, step):
        mask, old, stored = table(data["loss_mask"]), table(data["logprobs"]), data.get("prox_logp")
        seen: dict[str, Any] = {"mask": mask, "stages": finite({"the policy's output": sampled, "the loss": made})}
        if stored is not None and not np.array_equal(table(stored) * mask, old * mask):
            seen |= {"logps": table(sampled), "old_logps": table(stored), "fresh": True}
        elif data.get("versions") is not None:  # the engine's own are used for the ratio
            seen |= {"engine_logps": old, "trainer_logps": table(sampled)}
            seen |= {"versions": _moved(table(data["versions"])), "version": float(step - 1)}
        record.batch(step, **seen)
        advantages = table(data["advantages"])
        plain = not given["use_sapo_loss"] and given["importance_sampling_level"] == "token"
        whole = plain and given["rejection_sampling"] is None and given["m2_threshold"] is None
        if data.get("teacher_logp") is None:
            fresh = whole and "logps" in seen
            on_gradient(record, step, sampled, table, advantages=advantages, lengths=mask, fresh=fresh)


SEAMS = (
    Seam("areal.trainer.ppo.actor", "PPOActor._compute_advantages", _advantages),
    Seam(
        "areal.trainer.ppo.actor",
        "PPOActor._ppo_update",
        beginning(UPDATE, lambda given: int(given["self"].engine.get_version()) + 1),
    ),
    Seam("areal.trainer.ppo.actor", "grpo_loss_fn", _loss),
)
