"""What several trainers hold in the same way: tensors, and advantages of tokens."""

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


def turns(mask: np.ndarray) -> bool:
    """Whether a token that counts follows one that does not, after others: text of a tool lies between."""
    return bool(((np.diff(mask, axis=1) > 0) & (np.cumsum(mask, axis=1)[:, :-1] > 0)).any())


def side_by_side() -> bool:
    """Whether several processes train, each on its part of the batch."""
    import torch

    spread = torch.distributed.is_available() and torch.distributed.is_initialized()
    return spread and torch.distributed.get_world_size() > 1
