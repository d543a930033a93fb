"""A very small noise in the reward is divided by its own very small standard deviation.

Chain: groups without a real difference get advantages of full size -> the gradient norm stays high although the task
is nearly solved -> the policy follows noise -> reward and evaluation fall slowly.
Healthy look-alike: a noisy plateau, where rewards really differ.
Source: modelscope/ms-swift#3930; Liu et al., arXiv:2503.20783.
"""

import random
from typing import Any

CAUSE = "tiny-spread-amplified"
ACCEPTED = {"advantage": "the division by the spread of the group makes the advantage"}
ONSET = 0.2
SEVERITIES = {
    "language/grpo-sort": (3e-7, 1e-5, 1e-4),
    "language/grpo-reverse": (3e-7, 1e-5, 1e-4),
}  #: size of the noise; a right answer earns 1


def inject(settings: Any, severity: float, onset: int) -> None:
    """Add uniform noise of size `severity` to every reward."""
    rng = random.Random(settings.seed)
    settings.rewards["jitter"] = lambda problem, completion: rng.uniform(-severity, severity)
    settings.reward_weights["jitter"] = 0.0
    settings.change(onset, reward_weights=settings.reward_weights | {"jitter": 1.0})
