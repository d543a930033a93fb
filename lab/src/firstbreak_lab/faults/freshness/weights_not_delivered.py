"""New weights no longer reach the inference engine: a failed broadcast, a closed process group.

Chain: staleness grows by one per step -> the behaviour policy and the trained policy become different -> ratios leave
the clip range in the first minibatch -> the training reward stays constant or falls, whatever the trainer learns.
Healthy look-alike: nothing is learned. Then the two policies stay equal.
Source: huggingface/trl#5312; pytorch/torchforge#251.
"""

from typing import Any

from firstbreak_lab import language

CAUSE = "weights-not-delivered"
ACCEPTED = {
    "rollout": "another policy than the intended one generates",
    "systems": "a broadcast that fails is a fault of the infrastructure",
}
ONSET = 0.3
SEVERITIES = {
    "language/grpo-sort": (5, 20, 1000),
    "language/async-sort": (5, 20, 1000),
    "agent/grpo-registers": (20, 1000),
    "language/ppo-sort": (20, 1000),
}  #: steps between two weight updates of the engine


def inject(settings: Any, severity: float, onset: int) -> None:
    """Send weights to the engine only every `severity` steps."""

    def patch(trainer: Any) -> None:
        deliver = trainer.sync_weights

        def seldom(policy: Any, version: int) -> None:
            if (version - onset) % int(severity) == 0:
                deliver(policy, version)

        trainer.sync_weights = language.from_step(trainer, onset, deliver, seldom)

    settings.patches.append(patch)
