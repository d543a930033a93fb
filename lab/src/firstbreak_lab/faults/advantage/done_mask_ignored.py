"""Advantages run over the ends of episodes: the done mask is not multiplied in.

Chain: the value after a failure counts as if the episode continued -> value targets drift towards r / (1 - gamma) -> advantages
change size -> entropy stays high -> the evaluation falls, and the training return falls much later.
Healthy look-alike: a solved CartPole, where values of r / (1 - gamma) are right.
Source: toni-sm/skrl#449; "The 37 Implementation Details of PPO" (2022).
"""

from typing import Any

import numpy as np

CAUSE = "done-mask-wrong"
ACCEPTED = {"environment": "the ends of episodes are what the environment reports"}
ONSET = 0.3
SEVERITIES = {
    "classic/ppo-cartpole": (0.3, 0.7, 1.0),
    "classic/a2c-cartpole": (0.7, 1.0),
}  #: share of the episode ends that are hidden


def inject(settings: Any, severity: float, onset: int) -> None:
    """Hide a random share `severity` of the episode ends from the advantage estimate."""

    rng = np.random.default_rng(settings.seed)

    def patch(model: Any) -> None:
        buffer = model.rollout_buffer
        honest = buffer.compute_returns_and_advantage

        def masked_wrongly(last_values: Any, dones: Any) -> None:
            if model.num_timesteps >= onset:
                hidden = rng.random(buffer.episode_starts.shape) < severity
                buffer.episode_starts[hidden] = 0
            honest(last_values, dones)

        buffer.compute_returns_and_advantage = masked_wrongly

    settings.patches.append(patch)
