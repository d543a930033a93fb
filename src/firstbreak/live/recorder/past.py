"""The last steps of an environment, as it was given them and as it showed them: what a loop stores is compared with these."""

from collections import deque
from itertools import zip_longest
from typing import Any

import numpy as np

KEPT = 16384  #: steps of all copies
WIDEST = 128  #: numbers of an observation or action: of larger ones, only rewards and ends are kept
COMPARED = 32  #: last steps of environments: chance makes so many alike only where nothing is drawn
TIMES = 3  #: that environments are compared: a policy that has learned may repeat itself
NAMES = ("obs", "action", "after", "reward", "failed", "cut")
NUMBERS = ("reward", "failed", "cut")  #: one for each step and copy


class Past:
    """The last steps of `copies` environments. A step costs a copy of what it shows: tables are made when they are asked for."""

    def __init__(self, copies: int, *, resets: bool = False) -> None:
        """`resets`: the observation of a step that ends an episode is the next episode's first one."""
        self.size, self.made = max(1, KEPT // copies), 0
        self.copies, self._resets = copies, resets
        self._before: Any = None  #: what the environment showed last
        self._new: deque[tuple[Any, ...]] = deque(maxlen=self.size)  #: steps that are in no table yet
        self._kept: dict[str, np.ndarray] = {}  #: tables that begin anew when they are full

    def began(self, seen: Any) -> None:
        """An episode began by hand."""
        self._before = self._own(seen)

    def add(self, action: Any, seen: Any, *told: Any) -> None:
        """One step of each copy; what is told are the reward, whether it terminated, and whether it was truncated."""
        before, self._before = self._before, self._own(seen)
        told = told if type(told[0]) is float else tuple(map(self._own, told))
        self._new.append((before, self._own(action), self._before, *told))
        self.made += 1

    def last(self, steps: int | None = None) -> dict[str, np.ndarray]:
        """The last steps, or all that are kept: name -> (steps, copies) or (steps, copies, k). Nothing where they are too many.

        `whole`: no step was made before those that are kept."""
        new, self._new = list(self._new), deque(maxlen=self.size)
        at = np.arange(self.made - len(new), self.made) % self.size
        for name, values in zip(NAMES, zip(*new, strict=True), strict=False):
            if any(value is None for value in values):
                continue
            table = np.array(values, np.float32).reshape(len(new), self.copies, -1)
            table = table[..., 0] if name in NUMBERS else table
            if name not in self._kept:
                self._kept[name] = np.full((self.size, *table.shape[1:]), np.nan, np.float32)
            self._kept[name][at] = table
        if self._resets and new and "after" in self._kept:
            over = (self._kept["failed"][at] != 0) | (self._kept["cut"][at] != 0)
            self._kept["after"][at] = np.where(over[..., None], np.nan, self._kept["after"][at])
        steps = min(self.made, self.size) if steps is None else steps
        if not 0 < steps <= min(self.made, self.size):
            return {}
        places = np.arange(self.made - steps, self.made) % self.size
        return {name: held[places] for name, held in self._kept.items()} | {"whole": np.array([self.made <= self.size])}

    def _own(self, value: Any) -> Any:
        """A copy of numbers; None of a dict, and of what is too wide."""
        if type(value) in (int, float, bool):
            return value
        if type(value) is not np.ndarray:
            return None if isinstance(value, dict | tuple) else np.array(value)
        return value.copy() if value.size <= WIDEST * self.copies else None


class Watched:
    """The environments that a recorder has wrapped, in order. Each has `past`, `copies`, `steps` and `space` (environment.py)."""

    def __init__(self) -> None:
        self.each: list[Any] = []
        self._told: list[int] = []  #: steps of each until the last rollout
        self._compared = 0

    def rollout(self, steps: int, rows: int) -> dict[str, np.ndarray]:
        """The last steps of all as those of one vector, where they made these (steps, n) since the last call and no others."""
        told, self._told = self._told, [one.steps for one in self.each]
        made = [now - before for before, now in zip_longest(told, self._told, fillvalue=0)]
        if sum(made) != rows or made != [steps * one.copies for one in self.each]:
            return {}
        parts = [one.past.last(steps) for one in self.each]
        shared = set.intersection(*map(set, parts)) - {"whole"} if parts else set()
        alike = [name for name in shared if len({part[name].shape[2:] for part in parts}) == 1]
        return {name: np.concatenate([part[name] for part in parts], axis=1) for name in alike}

    def last(self) -> dict[str, np.ndarray]:
        """The last steps of the only environment, or vector; nothing of several."""
        return self.each[0].past.last() if len(self.each) == 1 else {}

    def streams(self) -> dict[str, np.ndarray]:
        """`streams` (T, n, d): the last observations and actions of all, a few times at first; nothing of too few steps."""
        short = any(one.past.made < COMPARED for one in self.each)
        if short or self._compared == TIMES or sum(one.copies for one in self.each) < 2:
            return {}
        self._compared += 1
        held = [one.past.last(COMPARED) for one in self.each]
        if not all({"obs", "action"} <= tables.keys() for tables in held):
            return {}
        joined = [np.concatenate([tables["obs"], tables["action"]], axis=2) for tables in held]
        return {"streams": np.concatenate(joined, axis=1)} if len({rows.shape[2] for rows in joined}) == 1 else {}
