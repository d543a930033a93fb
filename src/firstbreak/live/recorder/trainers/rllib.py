"""RLlib's PPO: the advantages of a batch and the first loss of an update, both in the learner's process.

The names are those of Ray 2.60, with the learners and connectors that are its default.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.measuring import Price
from firstbreak.live.recorder.seams import Looking, Seam
from firstbreak.live.recorder.trainers._common import ActorUpdate, array, beginning, on_gradient

LEAST = 1e-4  #: RLlib divides the advantages by their standard deviation, or by this


UPDATE = ActorUpdate()
ESTIMATES: list[Mapping[str, Any]] = []  #: what the advantages of the update are made of, one for each policy


def _targets(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """What the advantages of one policy are made of."""
    made = yield
    ESTIMATES.append({**given, "targets": made})


def _advantages(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The batch of an update, when the advantages of its policies are known."""
    ESTIMATES.clear()
    if not record.due(UPDATE.number, Price.LOOK):
        return
    made = yield
    with record.measuring(Price.LOOK, UPDATE.number):
        used = [part["advantages"] for part in made.values() if "advantages" in part]
        for estimates, advantages in zip(ESTIMATES, used, strict=True):
            if advantages.ndim == 1:  # those of a policy with a memory are padded
                record.transitions(UPDATE.number, **_rollout(estimates, array(advantages)))


def _rollout(given: Mapping[str, Any], advantages: np.ndarray) -> dict[str, Any]:
    """All episodes after each other. Each is one place longer than it was: the value there is that of what would come next."""
    values, targets = (np.asarray(given[name], dtype=float) for name in ("values", "targets"))
    over, cut = (np.asarray(given[name], dtype=bool) for name in ("terminateds", "truncateds"))
    ended = over | cut
    real = np.concatenate([[True], ~ended[:-1]])
    after = np.append(values[1:], 0.0)
    rewards = np.asarray(given["rewards"], dtype=float) + float(given["gamma"]) * after * (cut & ~over)
    estimated = targets - values
    plain = advantages * max(LEAST, float(estimated.std())) + estimated.mean()
    column = {"rewards": rewards, "values": values, "advantages": plain, "returns": targets}
    ends = ended[real].astype(float)
    return {name: column[name][real, None] for name in column} | {
        "ended": ends[:, None],
        "cut": np.zeros_like(ends)[:, None],  # what is added at a time limit is among the rewards
        "next_value": np.zeros(1),
        "gamma": float(given["gamma"]),
        "gae_lambda": float(given["lambda_"]),
    }


def _loss(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
    """The first loss of an update, before any optimizer step of it, and its gradient."""
    step, batch, inputs = UPDATE.number, given["batch"], given["fwd_out"]["action_dist_inputs"]
    if not UPDATE.first(record, inputs) or inputs.ndim != 2:
        return
    made = yield
    with record.measuring(Price.LOOK, step):
        import torch

        policy = given["self"].module[given["module_id"]].unwrapped()
        with torch.enable_grad():
            apart = inputs.detach().requires_grad_()
            chosen = policy.get_train_action_dist_cls().from_logits(apart)
            logps = chosen.logp(batch["actions"])
            (slope,) = torch.autograd.grad(logps.sum(), apart)
        counts = array(batch["loss_mask"]) != 0 if "loss_mask" in batch else np.ones(len(inputs), dtype=bool)
        shown = {"newlogprob": logps, "logprob": batch["action_logp"], "entropy": chosen.entropy()}
        record.transitions(step, **{name: array(tensor)[counts] for name, tensor in shown.items()}, fresh=True)
        record.batch(step, stages={"the loss": bool(torch.isfinite(made).all())})
        advantages, steep = array(batch["advantages"])[counts], array(slope)

        def along(gradient: Any) -> np.ndarray:
            of_logps = (array(gradient) * steep).sum(1) / np.maximum((steep * steep).sum(1), 1e-12)
            return np.asarray(of_logps[counts, None])

        on_gradient(record, step, inputs, along, advantages=advantages)


GAE = "ray.rllib.connectors.learner.general_advantage_estimation"
SEAMS = (
    Seam(
        "ray.rllib.core.learner.learner",
        "Learner.update",
        beginning(UPDATE, lambda given: int(given["self"]._weights_seq_no) + 1),
    ),
    Seam(GAE, "compute_value_targets", _targets),
    Seam(GAE, "GeneralAdvantageEstimation.__call__", _advantages),
    Seam("ray.rllib.algorithms.ppo.torch.ppo_torch_learner", "PPOTorchLearner.compute_loss_for_module", _loss),
)
