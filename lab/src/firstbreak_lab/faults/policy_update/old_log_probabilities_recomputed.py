"""The old log-probabilities are computed again with the current network, at every minibatch.

Chain: the ratio is exactly 1 and the divergence from the old policy exactly 0, in all minibatches and epochs -> the
clip has no effect -> many epochs on one batch change the policy without a limit -> the evaluation falls behind.
Healthy look-alike: a single update per batch, where a ratio of exactly 1 is right.
Source: tensorforce/tensorforce#312; thu-ml/tianshou#745.
"""

from typing import Any

CAUSE = "old-log-probabilities-wrong"
ACCEPTED = {"freshness": "the data are no longer compared with the policy that made them"}
ONSET = 0.0
SEVERITIES = {"classic/ppo-cartpole": (4, 10, 20)}  #: epochs per batch


def inject(settings: Any, severity: float, onset: int) -> None:
    """Replace the stored log-probabilities by the current ones, and train `severity` epochs per batch."""

    def patch(model: Any) -> None:
        stored = model.rollout_buffer.get

        def recomputed(batch_size: int) -> Any:
            import torch

            for data in stored(batch_size):
                with torch.no_grad():
                    _, logp, _ = model.policy.evaluate_actions(data.observations, data.actions.long().flatten())
                yield data._replace(old_log_prob=logp)

        model.rollout_buffer.get = recomputed

    settings.hyperparameters["n_epochs"] = int(severity)
    settings.patches.append(patch)
