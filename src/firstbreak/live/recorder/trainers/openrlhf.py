"""OpenRLHF: the batch whose advantages were computed (the driver), and the first loss of an update (the actor's worker).

The names are those of OpenRLHF 0.11.2.
"""

from collections.abc import Mapping, Sequence
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
    numbering,
    on_gradient,
    turns,
)

CENTRED = ("gae", "reinforce", "reinforce_baseline")  #: over the tokens of the batch
WHOLE_BATCH = "flash_reinforce"  #: compares a reward with the mean of the batch
STAGES = {
    "rewards": "the rewards",
    "values": "the critic's values",
    "rollout_log_probs": "the engine's log-probabilities",
    "action_log_probs": "the stored log-probabilities",
    "base_action_log_probs": "the reference's log-probabilities",
    "advantages": "the advantages",
}


DRIVER, ACTOR = ActorUpdate(), ActorUpdate()  #: two processes


def _advantages(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The batch of an update, when its advantages are known."""
    DRIVER.begins()
    step = DRIVER.number
    if not record.due(step, Price.LOOK):
        return
    divergences = [experience.kl for experience in given["experiences"]]  # the trainer forgets them on the way
    made = yield
    with record.measuring(Price.LOOK, step):
        maker = given["self"]
        record.batch(step, **_batch(made, divergences, maker.args, float(maker.kl_ctl.value), step))


def _batch(
    experiences: Sequence[Any], divergences: Sequence[Any], args: Any, coefficient: float, step: int
) -> dict[str, Any]:
    mask = _rows([experience.action_mask for experience in experiences])
    attended = _rows([experience.attention_mask[:, 1:] for experience in experiences])
    kept = {name: _rows([getattr(experience, name) for experience in experiences]) for name in (*STAGES, "returns")}
    index = np.concatenate([np.asarray(experience.index) for experience in experiences])
    made: dict[str, Any] = {
        "stages": {
            said: bool(np.isfinite(kept[name]).all()) for name, said in STAGES.items() if kept[name] is not None
        },
        "mask": mask,
        # all that follows the prompt, where no text of a tool lies between
        "lengths": mask if turns(mask) else attended * (np.cumsum(mask, axis=1) > 0),
        "exempt": (mask.sum(1) == 0).astype(float),
        "prompts": [prompt for experience in experiences for prompt in experience.prompts],
        "group": (index // int(args.rollout.n_samples_per_prompt)).astype(float),
        "engine_logps": kept["rollout_log_probs"],
        "trainer_logps": kept["action_log_probs"],
    }
    if kept["base_action_log_probs"] is not None:
        made |= {"logps": kept["action_log_probs"], "ref_logps": kept["base_action_log_probs"], "untrained": step <= 1}
    penalties = max(coefficient, 0.0) * _rows(divergences) * (mask != 0)
    totals = np.concatenate([array(experience.info["return"]) for experience in experiences])
    return made | _estimated(mask, kept, penalties, totals + penalties.sum(1), args)


def _estimated(
    mask: np.ndarray, kept: Mapping[str, Any], penalties: np.ndarray, paid: np.ndarray, args: Any
) -> dict[str, Any]:
    """What the advantages are worked out from. `paid` (n,): rewards less what they are compared with, at the last tokens."""
    options, estimator = args.algo.advantage, args.algo.advantage.estimator
    discount = float(options.gamma) if estimator in ("gae", "reinforce") else 1.0
    if turns(mask) and (estimator == "gae" or discount != 1):  # for OpenRLHF, text of a tool is time that passes
        return {}
    token_rewards = -penalties
    last = mask.shape[1] - 1 - np.argmax(mask[:, ::-1] != 0, axis=1)
    token_rewards[np.arange(len(paid)), last] += paid
    found: dict[str, Any] = {"advantages": kept["advantages"], "token_rewards": token_rewards, "discount": discount}
    found["centred"] = estimator in CENTRED
    if estimator == "gae":
        found |= {"values": kept["values"], "gae_lambda": float(options.lambd), "targets": kept["returns"]}
    lowest, highest = args.reward.clip_range or (-np.inf, np.inf)
    if ((paid > lowest) & (paid < highest)).all():  # else clipped, after the comparison
        found |= {"rewards": kept["rewards"], "penalties": penalties}
    if estimator == WHOLE_BATCH:
        found |= {"prompts": None, "group": float(len(paid))}
    return found


def _rows(tensors: Sequence[Any]) -> Any:
    """The rows of several batches in one table, filled up with 0 on the right; None where the trainer has none."""
    if any(tensor is None for tensor in tensors):
        return None
    tables = [array(tensor) for tensor in tensors]
    if tables[0].ndim == 1:
        return np.concatenate(tables)
    width = max(table.shape[1] for table in tables)
    return np.concatenate([np.pad(table, ((0, 0), (0, width - table.shape[1]))) for table in tables])


def _loss(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The first loss of an update, before any optimizer step of it, and its gradient."""
    step, sampled, loss = ACTOR.number, given["log_probs"], given["self"]
    if not ACTOR.first(record, sampled):
        return
    made = yield
    with record.measuring(Price.LOOK, step):
        mask = array(given["action_mask"])
        stages = finite({"the policy's output": sampled, "the loss": made[0]})
        record.batch(step, mask=mask, logps=sampled, old_logps=given["old_log_probs"], fresh=True, stages=stages)
        # others leave tokens out on purpose
        whole = loss.policy_loss_type == "ppo" and loss.is_correction_level == "off"
        on_gradient(record, step, sampled, advantages=given["advantages"], lengths=mask, fresh=whole)


MAKER = "openrlhf.trainer.ppo_utils.experience_maker"
SEAMS = (
    Seam("openrlhf.trainer.ppo_trainer", "BasePPOTrainer.train_step", numbering(DRIVER, "global_step")),
    Seam(MAKER, "RemoteExperienceMaker.compute_advantages_and_returns", _advantages),
    Seam("openrlhf.trainer.ray.ppo_actor", "ActorPPOTrainer.ppo_train", beginning(ACTOR), "recorder_actor"),
    Seam("openrlhf.models.loss", "PolicyLoss.forward", _loss, "recorder_actor"),
)
