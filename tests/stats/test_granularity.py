"""How many problems an evaluation has, from its shares of right answers."""

import numpy as np
import pytest

from firstbreak.engine.stats.granularity import binomial_error, problems


@pytest.mark.parametrize(("n", "decimals"), [(400, 12), (400, 4), (30, 12), (97, 4)])
def test_the_number_of_problems_is_found(n: int, decimals: int) -> None:
    right = np.random.default_rng(0).integers(0, n + 1, 20)
    assert problems(np.round(right / n, decimals)) == n


def test_numbers_of_32_bits_are_no_other_shares() -> None:
    right = np.random.default_rng(0).integers(0, 401, 7)
    assert problems((right / 400).astype(np.float32).astype(float)) == 400


def test_random_numbers_have_none() -> None:
    rng = np.random.default_rng(0)
    assert [problems(rng.random(20)) for _ in range(8)] == [None] * 8


@pytest.mark.parametrize("shares", [[0.5, 0.25], [0.5, 0.25, 0.75, 1.5], [-0.5, 0.25, 0.75, 0.5], [np.nan] * 5])
def test_few_values_and_what_is_no_share_have_none(shares: list[float]) -> None:
    assert problems(np.array(shares)) is None


def test_the_error_is_that_of_a_share_and_never_nothing() -> None:
    errors = binomial_error(np.array([0.0, 0.5, 1.0]), 400)
    assert errors[1] == pytest.approx(0.025, rel=0.01)
    assert errors[0] == pytest.approx(errors[2])
    assert errors[0] > 0
