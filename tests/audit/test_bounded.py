"""Summaries of bounded size say the same however the whole is cut, and in whatever order it comes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from firstbreak.audit.bounded import Bins, Choice


@dataclass
class Tally:
    n: int = 0

    def merge(self, other: Tally) -> None:
        self.n += other.n


def binned(steps: list[float], most: int = 5) -> Bins[Tally]:
    bins = Bins(most, Tally)
    for step in steps:
        bins.at(step).n += 1
    return bins


def content(bins: Bins[Tally]) -> list[tuple[float, int]]:
    return [(step, tally.n) for step, tally in bins.by_step()]


_steps = st.lists(st.floats(-1e300, 1e300) | st.integers(-40, 40).map(float), max_size=40)


@given(_steps, st.randoms(use_true_random=False), st.integers(0, 40))
@example([float(x) for x in range(9)] + [0.5, 1e300, -1e300, 5e-324], None, 3)
@example([0.0, 1.0, 2.0, 3.0, 4.0, -5e-324], None, 0)
def test_bins_depend_on_the_steps_alone(steps: list[float], random: object, cut: int) -> None:
    whole = binned(steps)
    assert sum(n for _, n in content(whole)) == len(steps)
    assert len(content(whole)) <= 5
    assert content(binned(sorted(steps))) == content(whole)
    merged = binned(steps[:cut])
    merged.merge(binned(steps[cut:]))
    assert content(merged) == content(whole)


def test_few_steps_keep_their_own_places_and_many_share() -> None:
    assert content(binned([3.0, 1.0, 3.0])) == [(1.0, 1), (3.0, 2)]
    shared = content(binned([float(step) for step in range(100)], most=16))
    assert [n for _, n in shared] == [8] * 12 + [4]
    assert {b - a for (a, _), (b, _) in pairwise(shared)} == {8.0}


def chosen(ranks: list[float], most: int = 4) -> Choice[float]:
    choice = Choice[float](most)
    for rank in ranks:
        choice.offer(rank, rank)
    return choice


@given(st.lists(st.floats(0, 1, exclude_max=True), max_size=60, unique=True), st.integers(0, 60))
def test_a_choice_of_choices_is_a_choice_of_all(ranks: list[float], cut: int) -> None:
    merged = chosen(ranks[:cut])
    merged.merge(chosen(ranks[cut:]))
    assert merged.things == chosen(ranks).things == sorted(ranks)[:4]


def test_a_choice_is_fair() -> None:
    rng = np.random.default_rng(0)
    counts = np.zeros(50)
    for _ in range(2000):
        choice = Choice[int](10)
        for thing in range(50):
            choice.offer(rng.random(), thing)
        counts[choice.things] += 1
    assert math.isclose(counts.sum(), 20_000)
    assert np.abs(counts / 2000 - 0.2).max() < 5 * math.sqrt(0.2 * 0.8 / 2000)
