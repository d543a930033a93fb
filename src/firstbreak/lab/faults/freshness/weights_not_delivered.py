"""New weights no longer reach the inference engine: a failed broadcast, a group that was torn down.

Chain: staleness grows by one a step -> behaviour and trained policy part -> ratios leave the clip range in the first
minibatch -> the training reward stands still or falls, whatever the trainer learns.
Healthy look-alike: nothing is learned at all: then the two policies do not part.
Source: huggingface/trl#5312; pytorch/torchforge#251.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab import language

CAUSE = "weights-not-delivered"
ONSET = 0.3
SEVERITIES = {
    "language/grpo-sort": (5, 20, 1000),
    "language/async-sort": (5, 20, 1000),
    "agent/grpo-registers": (20, 1000),
    "language/ppo-sort": (20, 1000),
}  #: steps between two deliveries


def inject(settings: Any, severity: float, onset: int) -> None:
    """Deliver weights only every `severity` steps."""

    def operate(trainer: Any) -> None:
        deliver = trainer.sync_weights

        def seldom(policy: Any, version: int) -> None:
            if (version - onset) % int(severity) == 0:
                deliver(policy, version)

        trainer.sync_weights = language.from_step(trainer, onset, deliver, seldom)

    settings.surgery.append(operate)
