"""The old log-probabilities are computed again by the network in training, at every minibatch.

Chain: the ratio is exactly 1 and the divergence from the old policy exactly 0, in all minibatches and epochs -> the
clip never acts -> the many epochs of a batch push as far as they like -> the evaluation falls behind.
Healthy look-alike: a single update per batch, where a ratio of exactly 1 is right.
Source: tensorforce/tensorforce#312; thu-ml/tianshou#745.
"""

from __future__ import annotations

from typing import Any

CAUSE = "old-log-probabilities-wrong"
ONSET = 0.0
SEVERITIES = {"classic/ppo-cartpole": (4, 10, 20)}  #: epochs of a batch


def inject(settings: Any, severity: float, onset: int) -> None:
    """Replace the stored log-probabilities by those of the moment, and train `severity` epochs on a batch."""

    def operate(model: Any) -> None:
        stored = model.rollout_buffer.get

        def recomputed(batch_size: int) -> Any:
            import torch

            for data in stored(batch_size):
                with torch.no_grad():
                    _, logp, _ = model.policy.evaluate_actions(data.observations, data.actions.long().flatten())
                yield data._replace(old_log_prob=logp)

        model.rollout_buffer.get = recomputed

    settings.hyperparameters["n_epochs"] = int(severity)
    settings.surgery.append(operate)
