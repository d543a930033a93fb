"""verl: the batch at `compute_advantage` (the driver of both trainers), and the first loss of an update (the actor's worker).

The names are those of verl 0.9.1. A setting that is not known here, and that changes what an advantage is, leaves its identity
out.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.measuring import Price
from firstbreak.live.recorder.seams import Looking, Seam, caller
from firstbreak.live.recorder.trainers._common import (
    ActorUpdate,
    array,
    beginning,
    by_row,
    finite,
    numbering,
    on_gradient,
    turns,
)

EPSILON = 1e-6
#: estimator of one number a completion -> what it takes off the reward, and what it divides by
OUTCOME: Mapping[str, tuple[str, str | None]] = {
    "grpo": ("group", "group"),
    "grpo_vectorized": ("group", "group"),
    "grpo_passk": ("best", "group"),
    "gdpo": ("functions", "tokens"),
    "gpg": ("group", None),
    "opo": ("by-length", "none"),
    "reinforce_plus_plus_baseline": ("group", "tokens"),
    "remax": ("own", "none"),
    "rloo": ("leave-one-out", "none"),
    "rloo_vectorized": ("leave-one-out", "none"),
}
SCALED_BY_CHOICE = ("grpo", "grpo_passk")  #: whose division by the standard deviation can be switched off
SAMPLES_FIRST = ("RayPPOTrainer",)  #: each update has samples of the weights before it
STAGES = {
    "token_level_scores": "the scores",
    "values": "the critic's values",
    "rollout_log_probs": "the engine's log-probabilities",
    "old_log_probs": "the stored log-probabilities",
    "ref_log_prob": "the reference's log-probabilities",
    "token_level_rewards": "the rewards",
    "advantages": "the advantages",
}


def _advantages(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The batch of an update, when its advantages are known."""
    trainer = caller("global_steps")
    step = int(trainer.global_steps)
    if not record.due(step, Price.LOOK):
        return
    data = yield
    with record.measuring(Price.LOOK, step):
        record.batch(step, **_batch(data, given, step), **_ages(data, trainer))


def _batch(data: Any, given: Mapping[str, Any], step: int) -> dict[str, Any]:
    batch, known = data.batch, data.non_tensor_batch
    kept = {
        name: batch[name]
        for name in (*STAGES, "response_mask", "attention_mask", "prompts")
        if name in batch.keys()  # noqa: SIM118
    }
    mask = array(kept["response_mask"])
    made: dict[str, Any] = {"stages": finite({said: kept.get(name) for name, said in STAGES.items()}), "mask": mask}
    if "uid" in known:
        made["group"] = np.unique(known["uid"].astype(str), return_inverse=True)[1].astype(float)
        if "prompts" in kept:
            made["prompts"] = [" ".join(map(str, row)) for row in kept["prompts"].tolist()]
    if "attention_mask" in kept:
        corrected = given["config"] is not None and given["config"].get("rollout_correction") is not None
        made |= _mask(mask, array(kept["attention_mask"])[:, -mask.shape[1] :], corrected=corrected)
    if "rollout_log_probs" in kept and "old_log_probs" in kept:
        made |= {"engine_logps": kept["rollout_log_probs"], "trainer_logps": kept["old_log_probs"]}
    if "ref_log_prob" in kept and "old_log_probs" in kept:
        made |= {"logps": kept["old_log_probs"], "ref_logps": kept["ref_log_prob"], "untrained": step <= 1}
    return made | _estimated(kept, known, batch, mask, given)


def _ages(data: Any, trainer: Any) -> dict[str, Any]:
    """The version of the weights that sampled each completion (of its first token), where the engine says it."""
    sampled = data.non_tensor_batch.get("min_global_steps")
    if sampled is None or any(version is None for version in sampled):
        return {}
    width = data.batch["response_mask"].shape[1]
    version = getattr(trainer, "current_param_version", int(trainer.global_steps) - 1)
    made = {"versions": np.repeat(sampled.astype(float)[:, None], width, axis=1), "version": float(version)}
    return made | {"oldest": 0.0} if type(trainer).__name__ in SAMPLES_FIRST else made


def _estimated(
    kept: Mapping[str, Any], known: Any, batch: Any, mask: np.ndarray, given: Mapping[str, Any]
) -> dict[str, Any]:
    """What the advantages are worked out from, for the estimator that is configured."""
    name = str(getattr(given["adv_estimator"], "value", given["adv_estimator"]))
    rewards, advantages = array(kept["token_level_rewards"]), array(kept["advantages"])
    made: dict[str, Any]
    if name in ("gae", "reinforce_plus_plus"):
        if name == "reinforce_plus_plus" and turns(mask):  # verl begins anew at each turn
            return {}
        made = {"token_rewards": rewards, "advantages": advantages}
        if name == "reinforce_plus_plus":
            return made | {"discount": float(given["config"]["gamma"])}
        more = {"discount": float(given["gamma"]), "gae_lambda": float(given["lam"])}
        return made | more | {"values": batch["values"], "targets": batch["returns"]}
    if name not in OUTCOME:
        return {}
    estimator, scaled = OUTCOME[name]
    option = "norm_adv_by_std_in_grpo"
    if name in SCALED_BY_CHOICE and not (given[option] if name == "grpo" else given["config"].get(option, True)):
        scaled = "none"
    made = {"estimator": estimator, "scaled": scaled, "rewards": rewards.sum(1), "epsilon": EPSILON}
    if name == "remax":
        made["penalty"] = batch["reward_baselines"]
    if name == "gdpo":
        config = given["config"]
        made["rewards"] = np.stack([np.asarray(known[key], dtype=float) for key in config["gdpo_reward_keys"]], 1)
        weights = config.get("gdpo_reward_weights")
        made["reward_weights"] = None if weights is None else [float(weight) for weight in weights]
    return made | by_row(advantages, mask)


def _mask(mask: np.ndarray, attended: np.ndarray, *, corrected: bool) -> dict[str, Any]:
    """The mask, and what may be in it. Tokens of a tool, and those that a correction rejects, are left out on purpose."""
    sampled = attended * mask if corrected or turns(mask) else attended
    return {"mask": mask, "lengths": sampled, "exempt": (mask.sum(1) == 0).astype(float)}


ACTOR = ActorUpdate()  #: in the actor's worker


def _loss(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The first loss of an update, before any optimizer step of it, and its gradient."""
    step = ACTOR.number
    if not ACTOR.first(record, given["model_output"]["log_probs"]):
        return
    made = yield
    from verl.workers.utils.padding import no_padding_2_padding

    with record.measuring(Price.LOOK, step):
        data, sampled = given["data"], given["model_output"]["log_probs"]
        logps = no_padding_2_padding(sampled, data)
        names = [name for name in ("response_mask", "old_log_probs", "advantages", "rollout_log_probs") if name in data]
        held = data.select(*names).to_padded_tensor()
        mask, old = array(held["response_mask"]), array(held["old_log_probs"])
        engine = array(held["rollout_log_probs"]) if "rollout_log_probs" in names else None
        responses = array(no_padding_2_padding(sampled.detach().values() * 0 + 1, data))
        seen = _mask(mask, responses, corrected="rollout_is_weights" in data)
        seen |= {"stages": finite({"the policy's output": logps, "the loss": made[0]})}
        if engine is not None and np.array_equal(engine * mask, old * mask):  # the engine's own are used for the ratio
            seen |= {"engine_logps": engine, "trainer_logps": logps}
        else:
            seen |= {"logps": logps, "old_logps": old, "fresh": True}
        record.batch(step, **seen)
        # others leave tokens out on purpose
        plain = given["config"].policy_loss.get("loss_mode", "vanilla") == "vanilla"
        fresh = plain and "rollout_is_weights" not in data and "logps" in seen
        used = {"advantages": held["advantages"], "lengths": mask, "fresh": fresh}
        on_gradient(record, step, sampled, lambda gradient: no_padding_2_padding(gradient, data), **used)


ENGINE = "verl.workers.engine_workers"
SEAMS = (
    Seam("verl.trainer.ppo.ray_trainer", "compute_advantage", _advantages),
    # weights go to the engine at the end of each step
    Seam(ENGINE, "ActorRolloutRefWorker.update_weights", numbering(ACTOR, "global_steps"), "recorder_actor"),
    Seam(ENGINE, "ActorRolloutRefWorker.update_actor", beginning(ACTOR), "recorder_actor"),
    Seam("verl.workers.utils.losses", "ppo_loss", _loss, "recorder_actor"),
)
