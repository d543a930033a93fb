"""The clip of the importance ratio is missing, and a batch is used for many updates.

Chain: ratios drift with every minibatch -> there is no limit -> KL and the largest ratio grow -> reward oscillates or
falls.
Healthy look-alike: clip-higher and dual-clip designs; few minibatches, where ratios stay near 1 without a clip.
Source: openai/spinningup#315; pytorch/rl#786.
"""

from typing import Any

CAUSE = "clip-missing"
ONSET = 0.2
SEVERITIES = {"language/grpo-sort": (8, 16, 64), "language/ppo-sort": (8, 16, 64)}  #: minibatches per batch


def inject(settings: Any, severity: float, onset: int) -> None:
    """Remove the clip and split each batch into `severity` minibatches."""
    settings.change(onset, eps_clip=1e9, ppo_n_minibatches=int(severity))
