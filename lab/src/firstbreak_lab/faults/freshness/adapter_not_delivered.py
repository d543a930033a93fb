"""Only a part of the weights reaches the engine, and the engine still reports the new version.

Chain: the logged staleness stays at 0 -> behaviour log-probabilities differ from the trainer's, a little more with
each step -> first-minibatch ratios are not 1 -> the training reward falls behind the evaluation.
Healthy look-alike: rounding between two engines, which does not grow.
Source: huggingface/trl#5313 (adapters that are merged on one side only); verl#7987.
"""

import random
from typing import Any

from firstbreak_lab import language

CAUSE = "weights-not-delivered"
ACCEPTED = {"rollout": "another policy than the intended one generates"}
ONSET = 0.2
SEVERITIES = {
    "language/grpo-sort": (0.25, 0.5, 0.9),
    "language/async-sort": (0.25, 0.5, 0.9),
}  #: share of the tensors that are not sent


def inject(settings: Any, severity: float, onset: int) -> None:
    """Never send a fixed share `severity` of the tensors."""

    def patch(trainer: Any) -> None:
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

    settings.patches.append(patch)
