"""Only a part of the weights reaches the engine, which reports the new version all the same.

Chain: staleness stays at 0 by the record -> behaviour log-probabilities part from the trainer's, a little more with
each step -> first-minibatch ratios leave 1 -> the training reward lags behind the evaluation.
Healthy look-alike: rounding between two engines, which does not grow.
Source: huggingface/trl#5313 (adapters that are merged on one side only); verl#7987.
"""

from __future__ import annotations

import random
from typing import Any

from firstbreak.lab import language

CAUSE = "weights-not-delivered"
ONSET = 0.2
SEVERITIES = {
    "language/grpo-sort": (0.25, 0.5, 0.9),
    "language/async-sort": (0.25, 0.5, 0.9),
}  #: share of the tensors left behind


def inject(settings: Any, severity: float, onset: int) -> None:
    """Leave a fixed share `severity` of the tensors out of every delivery."""

    def operate(trainer: Any) -> None:
        import torch

        deliver, engine = trainer.sync_weights, trainer.engine
        names = sorted(name for name, _ in trainer.policy.named_parameters())
        left_behind = random.Random(settings.seed).sample(names, round(severity * len(names)))

        def partly(policy: Any, version: int) -> None:
            kept = {name: engine.model.get_parameter(name).clone() for name in left_behind}
            deliver(policy, version)
            with torch.no_grad():
                for name, tensor in kept.items():
                    engine.model.get_parameter(name).copy_(tensor)

        trainer.sync_weights = language.from_step(trainer, onset, deliver, partly)

    settings.surgery.append(operate)
