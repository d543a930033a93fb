"""What several trainers hold in the same way: advantages of tokens, and completions of prompts in one row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def array(tensor: Any) -> np.ndarray:
    """A tensor as float64."""
    return np.asarray(tensor.detach().float().cpu().numpy(), dtype=float)


def finite(tensors: Mapping[str, Any]) -> dict[str, bool]:
    """For each tensor that is there, whether it is finite."""
    return {said: bool(t.isfinite().all()) for said, t in tensors.items() if t is not None and t.is_floating_point()}


def by_row(advantages: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """The advantage of each completion, how far its tokens differ from it, and how many there are."""
    used = mask != 0
    count = used.sum(1)
    rows = (advantages * used).sum(1) / np.maximum(count, 1)
    uneven = (np.abs(advantages - rows[:, None]) * used).max(1)
    return {"advantages": rows, "uneven": uneven, "tokens": count.astype(float)}


def steps(
    advantages: np.ndarray,
    rewards: np.ndarray,
    mask: np.ndarray,
    values: np.ndarray | None = None,
    targets: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    """Tokens (n, T) as the steps (T, n) of episodes that end with the completion: those of the loss, moved to the front."""
    order = np.argsort(mask == 0, axis=1, kind="stable")

    def packed(table: np.ndarray) -> np.ndarray:
        return np.take_along_axis(table * (mask != 0), order, axis=1).T

    given = {"step_advantages": advantages, "step_rewards": rewards, "taken": mask}
    given["step_values"] = np.zeros_like(rewards) if values is None else values
    if targets is not None:
        given["step_targets"] = targets
    packed_all = {name: packed(table) for name, table in given.items()}
    return packed_all | {"ended": np.zeros_like(packed_all["taken"]), "last_values": np.zeros(len(mask))}
