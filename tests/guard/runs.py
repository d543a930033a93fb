"""Streams of metrics as a GRPO trainer logs them."""

from collections.abc import Iterator

import numpy as np

STEP_SECONDS = 10.0


class Clock:
    """A clock that training moves, so that a test decides when a check is due."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def train(self, seconds: float = STEP_SECONDS) -> None:
        self.now += seconds


def learning(n: int, seed: int = 0) -> Iterator[dict[str, float]]:
    """A run that learns."""
    rng = np.random.default_rng(seed)
    for i in range(n):
        yield {
            "reward": 0.8 / (1 + np.exp(-(i - n / 3) / (n / 10))) + rng.normal(0, 0.02),
            "reward_std": 0.3 + rng.normal(0, 0.02),
            "frac_reward_zero_std": 0.2,
            "kl": 0.0005 * i + abs(rng.normal(0, 0.001)),
            "entropy": 1.5 - 0.5 * i / n + rng.normal(0, 0.02),
            "grad_norm": float(np.exp(rng.normal(0, 0.3))),
            "loss": rng.normal(0, 0.01),
        }


def collapsing(n: int, at: int, seed: int = 0) -> Iterator[dict[str, float]]:
    """The same until `at`; then the reward is lost, entropy with it, and the divergence grows."""
    rng = np.random.default_rng(seed)
    for i, row in enumerate(learning(n, seed)):
        if i >= at:
            gone = 1 - np.exp(-(i - at) / 5)
            row |= {"reward": row["reward"] * (1 - gone) + rng.normal(0, 0.005), "entropy": row["entropy"] * (1 - gone)}
            row |= {"kl": row["kl"] + 0.5 * gone * (i - at), "grad_norm": row["grad_norm"] * (1 + 30 * gone)}
        yield row
