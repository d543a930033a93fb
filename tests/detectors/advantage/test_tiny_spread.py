"""tiny-spread: tiny differences that become full advantages."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "tiny-spread"
N = 60


def test_zero_variance_groups_that_vanish_at_once_are_found() -> None:
    zero_variance_groups = np.where(np.arange(N) < 30, 0.3 + noise(N, 0.02), 0.0)
    assert found(ID, run({"reward.zero_std_frac": zero_variance_groups}, algorithm="grpo")).onset == 31


def test_a_filter_that_drops_them_from_the_start_is_healthy() -> None:
    curves = {
        "reward.zero_std_frac": np.zeros(N),
        "reward.group_std": np.full(N, 0.4),
        "advantage.abs.mean": np.full(N, 0.8),
        "reward.min": np.zeros(N),
        "reward.max": np.ones(N),
    }
    assert silent(ID, run(curves, algorithm="grpo"))


def test_a_spread_far_below_the_range_is_found() -> None:
    curves = {
        "reward.group_std": np.full(N, 1e-4),
        "advantage.abs.mean": np.full(N, 0.8),
        "reward.min": np.zeros(N),
        "reward.max": np.ones(N),
    }
    assert "differ by 0.0001 where their range is 1" in found(ID, run(curves, algorithm="grpo")).message
