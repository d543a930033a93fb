"""The inference engine computes with coarser weights than the trainer: quantisation, another precision or kernel.

Chain: at equal versions the two disagree about probabilities -> behaviour weights spread, growing as the policy
sharpens -> first-minibatch ratios leave 1 -> the update is biased.
Healthy look-alike: staleness, which follows the version lag; rounding of the size of 0.001.
Source: arXiv:2510.26788; THUDM/slime and veRL notes on training-inference mismatch.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab import language

CAUSE = "engines-disagree"
ONSET = 0.0
SEVERITIES = {"language/grpo-sort": (5, 4, 3), "language/async-sort": (5, 4, 3)}  #: bits of a weight in the engine


def inject(settings: Any, severity: float, onset: int) -> None:
    """Round every delivered matrix to `severity` bits."""

    def operate(trainer: Any) -> None:
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

    settings.surgery.append(operate)
