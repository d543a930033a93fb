"""The inference engine uses less precise weights than the trainer: quantisation, another precision or kernel.

Chain: with the same version, engine and trainer compute different probabilities -> behaviour weights spread, more as
entropy falls -> first-minibatch ratios are not 1 -> the update is biased.
Healthy look-alike: staleness, which follows the version lag; rounding errors of about 0.001.
Source: arXiv:2510.26788; THUDM/slime and veRL notes on training-inference mismatch.
"""

from typing import Any

from firstbreak_lab import language

CAUSE = "engines-disagree"
ACCEPTED = {
    "numerics": "the precision of one of the two engines is too low",
    "rollout": "another policy than the intended one generates",
}
ONSET = 0.0
SEVERITIES = {"language/grpo-sort": (5, 4, 3), "language/async-sort": (5, 4, 3)}  #: bits of a weight in the engine


def inject(settings: Any, severity: float, onset: int) -> None:
    """Round every matrix in the engine to `severity` bits."""

    def patch(trainer: Any) -> None:
        import torch

        deliver, engine = trainer.sync_weights, trainer.engine
        levels = 2 ** (int(severity) - 1) - 1

        def rounded(policy: Any, version: int) -> None:
            deliver(policy, version)
            with torch.no_grad():
                for tensor in engine.model.parameters():
                    if tensor.dim() == 2:
                        step = tensor.abs().amax(1, keepdim=True) / levels
                        tensor.copy_((tensor / step).round() * step)

        trainer.sync_weights = language.from_step(trainer, onset, deliver, rounded)

    settings.patches.append(patch)
