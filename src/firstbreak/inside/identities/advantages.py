"""Advantages are what the estimator makes of the rewards, row by row."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firstbreak.inside.batch import Reading
from firstbreak.inside.identities._rows import row, total

TOLERANCE = 0.01  #: relative: single precision gives 1e-6, a reward that is kept in 16 bits 1e-3
EPSILON = 1e-4  #: TRL adds it to the standard deviation
SAME = 0.9999  #: correlation


def measure(
    advantages: np.ndarray,
    rewards: np.ndarray,
    group: int,
    reward_weights: np.ndarray | None = None,
    estimator: str = "group",
    scaled: str | None = None,
    penalty: np.ndarray | None = None,
    summed: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """`scaled` is what the centred rewards are divided by: "group", "batch", "none"; None: a positive number for each group.

    `estimator` is "group", "functions" (each function's reward is normalised first) or "leave-one-out"; `penalty` (n,) is taken
    off the reward. `summed` (n,): the reward that is used, where it is not the weighted sum of the functions'.
    """
    if advantages.ndim != 1 or group < 2 or len(advantages) % group:
        return {}
    summed = total(rewards, reward_weights) if summed is None else summed
    if penalty is not None:
        summed = summed - penalty
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a group in which no completion was scored
        own = np.nan_to_num(_expected(summed, rewards, reward_weights, group, estimator, scaled))
        used = advantages if scaled is not None else _unscaled(advantages, own, group)
        raw = np.nan_to_num(summed - np.nanmean(summed))
    size = float(np.abs(own).max())
    if not np.isfinite(advantages).all() or not np.ptp(np.nan_to_num(summed)):
        return {}
    clear = np.abs(own) > 1e-3 * max(size, 1e-12)
    turned = clear & (np.sign(own) == -np.sign(used))
    longer = max(float(np.linalg.norm(own)), float(np.linalg.norm(used)), 1e-12)
    error = float(np.linalg.norm(used - own)) / longer
    wrong = np.abs(used - own) > TOLERANCE * max(size, 1e-12)
    found: dict[str, Reading] = {"advantage_turned": 0.0, "advantage_error": float(error)}
    if error <= TOLERANCE:
        return found | dict.fromkeys(("advantage_moved", "advantage_regrouped", "advantage_raw"), 0.0)
    i = int(np.argmax(wrong))
    shown = row(i, prompts, f": advantage {used[i]:.4g}, from its group's rewards {own[i]:.4g}")
    negated = bool(np.corrcoef(used, own)[0, 1] < -SAME) if size and np.ptp(used) else False
    scales = (scaled,) if scaled is not None else ("none", "group", "batch")
    moved = not negated and any(
        _reordered(advantages, summed, rewards, reward_weights, group, estimator, s) for s in scales
    )
    absolute = np.allclose(used, np.abs(own), atol=TOLERANCE * max(size, 1e-12))
    alike = bool(np.corrcoef(used, raw)[0, 1] > SAME) if np.ptp(used) and np.ptp(raw) else False
    centred = abs(float(used.mean())) < TOLERANCE * float(np.abs(used).max())
    columns = _expected(summed.reshape(group, -1).T.ravel(), None, None, group, "group", "group")
    by_column = np.allclose(used, columns.reshape(-1, group).T.ravel(), atol=TOLERANCE * max(size, 1e-12))
    regrouped = (alike and centred) or by_column
    names = {
        "advantage_turned": float(turned.sum() / max(clear.sum(), 1)) if negated or absolute else 0.0,
        "advantage_moved": float(wrong.mean()) if moved and not regrouped else 0.0,
        "advantage_regrouped": float(wrong.mean()) if regrouped else 0.0,
        "advantage_raw": float(wrong.mean()) if alike and not centred else 0.0,
        "advantage_error": float(error),
    }
    return {name: (value, shown) if value else value for name, value in names.items()}


def _expected(
    summed: np.ndarray,
    rewards: np.ndarray | None,
    weights: np.ndarray | None,
    group: int,
    estimator: str,
    scaled: str | None,
) -> np.ndarray:
    if estimator == "functions" and rewards is not None:
        table = rewards.reshape(-1, group, rewards.reshape(len(rewards), -1).shape[1])
        each = (table - np.nanmean(table, 1, keepdims=True)) / (_spread(table, 1) + EPSILON)
        summed = total(each.reshape(len(rewards), -1), weights)
        return np.asarray((summed - np.nanmean(summed)) / (_spread(summed, None) + EPSILON))
    groups = summed.reshape(-1, group)
    if estimator == "leave-one-out":
        known = (~np.isnan(groups)).sum(1, keepdims=True)
        left: np.ndarray = groups - (np.nansum(groups, 1, keepdims=True) - groups) / (known - 1)
        if scaled == "batch":
            left = (left - np.nanmean(left)) / (_spread(left, None) + EPSILON)
        return left.ravel()
    centred: np.ndarray = groups - np.nanmean(groups, 1, keepdims=True)
    if scaled in ("group", "batch"):
        centred = centred / (_spread(groups, 1 if scaled == "group" else None) + EPSILON)
    return centred.ravel()


def _reordered(advantages: np.ndarray, summed: np.ndarray, *how: Any) -> bool:
    """Whether the advantages are those of the rewards in another order, but for one factor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        mine = np.sort(np.nan_to_num(_expected(summed, *how)))
    size, length = float(np.linalg.norm(mine)), float(np.linalg.norm(advantages))
    return size > 0 < length and float(np.linalg.norm(np.sort(advantages) / length - mine / size)) < TOLERANCE


def _spread(values: np.ndarray, axis: int | None) -> np.ndarray:
    return np.asarray(np.nanstd(values, axis=axis, ddof=1, keepdims=axis is not None))


def _unscaled(advantages: np.ndarray, own: np.ndarray, group: int) -> np.ndarray:
    """The advantages, each group scaled to the size of its own ones: any positive factor is right."""
    used, wanted = advantages.reshape(-1, group), own.reshape(-1, group)
    sizes = np.linalg.norm(used, axis=1, keepdims=True)
    scaled: np.ndarray = used * np.linalg.norm(wanted, axis=1, keepdims=True) / np.where(sizes > 0, sizes, 1.0)
    return scaled.ravel()
