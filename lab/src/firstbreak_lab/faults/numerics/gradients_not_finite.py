"""Gradients overflow at some steps, and the optimiser skips these steps: half precision, a masked log of 0.

Chain: the gradient norm is not finite -> the step is skipped -> fewer and fewer updates are applied -> learning becomes slow,
while all metrics of the other steps look right.
Healthy look-alike: one skipped step while the loss scale is adjusted.
Source: volcengine/verl#721; AReaL's update_successful.
"""

import random
from dataclasses import replace
from typing import Any

from firstbreak_lab import language

CAUSE = "gradients-not-finite"
ACCEPTED = {"policy_update": "the optimiser skips its steps"}
ONSET = 0.2
SEVERITIES = {"language/grpo-sort": (0.3, 0.7, 1.0), "language/ppo-sort": (0.7, 1.0)}  #: share of the optimizer steps


def inject(settings: Any, severity: float, onset: int) -> None:
    """Make a random share `severity` of the losses overflow."""
    rng = random.Random(settings.seed)

    def patch(trainer: Any) -> None:
        finite = trainer.policy_loss

        def overflowing(*arguments: Any, **options: Any) -> Any:
            result = finite(*arguments, **options)
            return replace(result, loss=result.loss * float("inf")) if rng.random() < severity else result

        trainer.policy_loss = language.from_step(trainer, onset, finite, overflowing)

    settings.patches.append(patch)
