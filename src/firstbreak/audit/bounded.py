"""Summaries of bounded size. The result does not depend on how the data was split into parts and merged."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import Generic, Protocol, Self, TypeVar

T = TypeVar("T")


class Mergeable(Protocol):
    """An object that can be merged with another one of the same class."""

    def merge(self, other: Self, /) -> None:
        """Add the counts of the other one."""


M = TypeVar("M", bound=Mergeable)


class Choice(Generic[T]):
    """A uniform random sample of at most `most` items: those with the smallest random numbers (bottom-k sampling)."""

    def __init__(self, most: int) -> None:
        self.most = most
        self._held: list[tuple[float, T]] = []
        self._limit = math.inf  #: items with a larger number can no longer be chosen

    def wants(self, rank: float) -> bool:
        """Whether an item with this random number would be kept."""
        return rank < self._limit

    def offer(self, rank: float, thing: T) -> None:
        """Keep an item with its random number between 0 and 1, if the number is small enough."""
        if self.wants(rank):
            self._held.append((rank, thing))
            if len(self._held) >= 2 * self.most:
                self._prune()

    def merge(self, other: Choice[T]) -> None:
        """Sample from the items of both."""
        for rank, thing in other._held:
            self.offer(rank, thing)

    def _prune(self) -> None:
        self._held.sort(key=lambda entry: entry[0])
        del self._held[self.most :]
        if len(self._held) == self.most:
            self._limit = self._held[-1][0]

    @property
    def things(self) -> list[T]:
        """The chosen items, in random order."""
        self._prune()
        return [thing for _, thing in self._held]


class Bins(Generic[M]):
    """One item for each step. With more than `most` steps, one item for each bin; the bin width is a power of two.

    Wider bins are unions of narrower bins, so the width and the content of the bins do not depend on the order of steps.
    """

    def __init__(self, most: int, new: Callable[[], M]) -> None:
        self.most, self._new = most, new
        self._width = 0.0  #: 0: one item for each step
        self._bins: dict[float, M] = {}

    def at(self, step: float) -> M:
        """The item of a step."""
        place = self._place(step)
        found = self._bins.get(place)
        if found is None:
            self._put([(place, self._new())])
            found = self._bins[self._place(step)]
        return found

    def merge(self, other: Bins[M]) -> None:
        """Add the bins of another one."""
        self._width = max(self._width, other._width)
        self._put([*self._take(), *other._bins.items()])

    def by_step(self) -> list[tuple[float, M]]:
        """(first step, item), in the order of the steps."""
        return sorted(self._bins.items(), key=lambda item: item[0])

    def _take(self) -> list[tuple[float, M]]:
        found, self._bins = self.by_step(), {}
        return found

    def _put(self, items: Iterable[tuple[float, M]]) -> None:
        self._join(items)
        while len(self._bins) > self.most:
            steps = sorted(self._bins)
            nearest = min(b - a for a, b in pairwise(steps))
            self._width = 2 * self._width or math.ldexp(0.5, math.frexp(nearest)[1])  # a power of two, not above it
            self._join(self._take())

    def _join(self, items: Iterable[tuple[float, M]]) -> None:
        for step, item in items:
            place = self._place(step)
            if place in self._bins:
                self._bins[place].merge(item)
            else:
                self._bins[place] = item

    def _place(self, step: float) -> float:
        if self._width <= math.ulp(step):  # the step is a multiple of the width, and the quotient may overflow
            return step
        return step // self._width * self._width  # not floor(step / width): the smallest numbers would become 0
