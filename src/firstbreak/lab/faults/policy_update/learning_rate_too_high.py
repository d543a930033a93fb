"""The learning rate is multiplied in mid-run: a schedule in the wrong unit, a restart with another config.

Chain: steps grow -> KL and clip fraction jump -> entropy falls -> the evaluation falls -> training reward falls.
Healthy look-alike: on an easy task ten times the rate is simply better: KL and clip fraction jump, and reward rises.
Source: "The 37 Implementation Details of PPO" (2022); OpenAI Spinning Up, PPO.
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab import classic

CAUSE = "learning_rate_too_high"
ONSET = 0.45  #: of the run
SEVERITIES = {"classic/ppo-cartpole": (10.0, 30.0, 100.0, 300.0)}  #: the rate is multiplied by this


def inject(settings: Any, severity: float, onset: int) -> None:
    """Multiply the learning rate by `severity` from step `onset` on."""
    match settings:
        case classic.Settings():
            options = settings.hyperparameters
            planned, settings.recorded["learning_rate"] = (
                classic.schedule(options["learning_rate"]),
                options["learning_rate"],
            )
            last_healthy = 1 - onset / settings.total_timesteps
            options["learning_rate"] = lambda left: planned(left) * (severity if left <= last_healthy else 1.0)
