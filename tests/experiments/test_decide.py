"""Decisions that may be looked at after every point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.engine.stats.sequential import ALPHA, MIN_SEEDS, Decided, claim, confidence_sequence, decide


def ever_wrong(draw: np.ndarray, truth: float) -> float:
    """Share of the rows whose interval misses the truth at any of its lengths."""
    ends = [confidence_sequence(row) for row in draw]
    return float(np.mean([bool(((low > truth) | (high < truth)).any()) for low, high in ends]))


def test_the_interval_holds_the_mean_at_all_lengths_at_once() -> None:
    draw = np.random.default_rng(0).normal(3.0, 2.0, size=(2000, 100))
    assert ever_wrong(draw, 3.0) <= ALPHA


def test_batch_means_of_rewards_of_0_and_1_are_gaussian_enough() -> None:
    draw = np.random.default_rng(1).binomial(32, 0.2, size=(2000, 100)) / 32
    assert ever_wrong(draw, 0.2) <= ALPHA


def test_a_fixed_sample_interval_would_be_wrong_far_more_often_when_looked_at_after_every_point() -> None:
    draw = np.random.default_rng(2).normal(size=(500, 100))
    n = np.arange(1, 101)
    means = draw.cumsum(1) / n
    peeked = (np.abs(means) > 1.96 / np.sqrt(n))[:, 2:].any(1).mean()
    assert peeked > 3 * ever_wrong(draw, 0.0)


def test_a_clear_effect_is_decided_long_before_the_end() -> None:
    values = np.random.default_rng(3).normal(1.5, 1.0, 100)
    found = decide(values)
    assert found.decided is Decided.GO
    assert found.n < 30
    assert decide(-values).decided is Decided.NO_GO


def test_nothing_is_decided_where_nothing_is_known() -> None:
    assert decide(np.array([])).decided is Decided.CANNOT_TELL
    assert decide(np.array([np.nan, np.inf, 1.0])).decided is Decided.CANNOT_TELL
    assert decide(np.array([1.0, -1.0, 1.0])).decided is Decided.CANNOT_TELL


@given(st.lists(st.floats(-1e3, 1e3), min_size=3, max_size=40), st.floats(0.1, 100), st.floats(-1e3, 1e3))
def test_units_do_not_matter(values: list[float], scale: float, shift: float) -> None:
    plain = np.array(values)
    low, high = confidence_sequence(plain)
    scaled_low, scaled_high = confidence_sequence(plain * scale + shift)
    finite = np.isfinite(low)
    tolerance = 1e-6 * (1 + np.abs(plain).max() * scale + abs(shift))
    np.testing.assert_allclose(scaled_low[finite], low[finite] * scale + shift, atol=tolerance, rtol=1e-6)
    np.testing.assert_allclose(scaled_high[finite], high[finite] * scale + shift, atol=tolerance, rtol=1e-6)


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=40), st.integers(2, 40))
def test_a_first_decision_is_final(values: list[float], n: int) -> None:
    early, late = decide(np.array(values[:n])), decide(np.array(values))
    if early.decided is not Decided.CANNOT_TELL:
        assert late.decided is early.decided


def test_no_claim_is_made_from_fewer_than_three_seeds() -> None:
    assert "3 seeds" in claim(np.array([5.0, 5.1])).reason
    assert claim(np.array([5.0, 5.1])).decided is Decided.CANNOT_TELL
    assert claim(np.array([5.0, 5.1, 4.9])).decided is Decided.GO
    assert MIN_SEEDS == 3


@pytest.mark.parametrize("spread", [0.5, 2.0])
def test_claims_over_seeds_are_seldom_wrong(spread: float) -> None:
    rng = np.random.default_rng(4)
    wrong = [claim(rng.normal(0.0, spread, 8)).decided is not Decided.CANNOT_TELL for _ in range(1000)]
    assert np.mean(wrong) <= ALPHA
