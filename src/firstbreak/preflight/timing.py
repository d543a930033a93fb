"""Does each reward belong to its step, or to a neighbouring one: which of them do observation and action explain best?

A ridge fit of the reward on the observation, the action and the next observation, their squares and the distances of
components, is asked of every shift, on rows that it was not fitted on.
"""

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from firstbreak.values import dataclass

SHIFTS = 8  #: steps by which rewards may have moved, in each direction (convention)
MIN_ROWS = 200  #: steps that are compared (convention)
MAX_COLUMNS = 200  #: columns of what is known of a step: images are too large for a fit (convention)
MAX_PAIRED = 16  #: columns of which distances are taken as well (convention)
MIN_EXPLAINED = 0.2  #: share of the variance: a fit that explains less may be chance (convention)
#: share of what the reward's own step leaves unexplained that the better step leaves, at most (convention)
CLOSER = 0.5


@dataclass(frozen=True)
class Fits:
    """How well the step so many rows before explains a reward: shift -> share of the variance, in each half of the rows."""

    halves: tuple[dict[int, float], dict[int, float]]

    @property
    def best(self) -> int:
        """The shift that explains most; 0 where it is not clearly better, in both halves, than the reward's own step."""
        both = {shift: min(half[shift] for half in self.halves) for shift in self.halves[0]}
        best = max(both, key=lambda shift: both[shift])
        clear = both[best] > MIN_EXPLAINED and all(1 - h[best] < CLOSER * (1 - h[0]) for h in self.halves)
        return best if clear else 0

    def explained(self, shift: int) -> float:
        """Share of the variance that this shift explains."""
        return max(0.0, float(np.mean([half[shift] for half in self.halves])))


def fits(parts: Sequence[np.ndarray], rewards: np.ndarray, episodes: np.ndarray) -> Fits | str:
    """Parts of what is known of each step, (n, d) each, rewards (n,) and numbers of episodes (n,); or why nothing can be told."""
    if sum(part.shape[1] for part in parts) > MAX_COLUMNS:
        return "observations are too large for a fit"
    rows = np.arange(SHIFTS, len(rewards) - SHIFTS)
    rows = rows[(episodes[rows - SHIFTS] == episodes[rows]) & (episodes[rows + SHIFTS] == episodes[rows])]
    if len(rows) < MIN_ROWS or rewards[rows].std() == 0:
        return "too few steps, or one constant reward"
    known = _features(parts)
    shifts = range(-SHIFTS, SHIFTS + 1)
    halves = np.array_split(rows, 2)
    one, other = (
        {shift: _explained(known, rewards, train, test, shift) for shift in shifts}
        for train, test in (halves, halves[::-1])
    )
    return Fits((one, other))


def _features(parts: Sequence[np.ndarray]) -> np.ndarray:
    """Values, squares and distances of the components of each part, standardised; and a column of ones."""
    found = [*parts, *(part**2 for part in parts)]
    for part in parts:
        if 1 < part.shape[1] <= MAX_PAIRED:
            pairs = list(combinations(range(part.shape[1]), 2))
            found.append(np.abs(np.stack([part[:, i] - part[:, j] for i, j in pairs], axis=1)))
        found.append(np.abs(part))
    table = np.concatenate(found, axis=1)
    spread = table.std(axis=0)
    moving = table[:, spread > 0]
    scaled = np.clip((moving - moving.mean(axis=0)) / moving.std(axis=0), -10, 10)
    return np.concatenate([scaled, np.ones((len(table), 1))], axis=1)


def _explained(known: np.ndarray, rewards: np.ndarray, train: np.ndarray, test: np.ndarray, shift: int) -> float:
    """Share of the variance of the rewards of `test` that a fit on `train` explains by what was known `shift` rows before."""
    x, y = known[train - shift], rewards[train]
    centre = y.mean()
    weights = np.linalg.solve(x.T @ x + len(x) * 1e-4 * np.eye(x.shape[1]), x.T @ (y - centre))
    left = rewards[test] - centre - known[test - shift] @ weights
    return float(1 - np.mean(left**2) / max(rewards[test].var(), 1e-12))
