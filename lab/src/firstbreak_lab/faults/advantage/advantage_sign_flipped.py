"""Advantages have the wrong sign: gradient ascent on a loss, baseline minus return.

Chain: actions that are better than expected become less likely -> the logged and the true reward fall from the first
update -> completions or episodes become degenerate.
Healthy look-alike: none. A wrong sign of the reward looks the same, except that the logged reward rises.
Source: "The 37 Implementation Details of PPO" (2022); Humbatova et al., arXiv:2101.00135.
"""

from typing import Any

import numpy as np

from firstbreak_lab import classic, language

CAUSE = "advantage-sign-wrong"
ACCEPTED = {"policy_update": "the sign is as often wrong in the loss, one line further"}
ONSET = 0.3
SEVERITIES = {
    "language/grpo-sort": (0.55, 0.7, 1.0),
    "language/ppo-sort": (0.7, 1.0),
    "classic/ppo-cartpole": (0.55, 0.7, 1.0),
}  #: share of the sequences or steps whose advantage is flipped


def inject(settings: Any, severity: float, onset: int) -> None:
    """Flip a random share `severity` of the advantages."""
    rng = np.random.default_rng(settings.seed)

    def signs(n: int) -> Any:
        return np.where(rng.random((n, 1)) < severity, -1.0, 1.0).astype(np.float32)

    def patch(trainer: Any) -> None:
        import torch

        right = trainer.advantages

        def wrong(*arguments: Any) -> Any:
            advantages = right(*arguments)
            return advantages * torch.from_numpy(signs(len(advantages)))

        trainer.advantages = language.from_step(trainer, onset, right, wrong)

    def patch_buffer(model: Any) -> None:
        buffer = model.rollout_buffer
        honest = buffer.compute_returns_and_advantage

        def wrong(last_values: Any, dones: Any) -> None:
            honest(last_values, dones)
            if model.num_timesteps >= onset:
                buffer.advantages *= signs(len(buffer.advantages))

        buffer.compute_returns_and_advantage = wrong

    settings.patches.append(patch_buffer if isinstance(settings, classic.ClassicSettings) else patch)
