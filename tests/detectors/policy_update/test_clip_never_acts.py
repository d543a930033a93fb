"""clip-never-acts: ratios beyond a clip that does nothing."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "clip-never-acts"
N = 60
LATE = np.arange(N) >= 20


def test_ratios_beyond_a_clip_that_never_acts_are_found() -> None:
    curves = {"policy.ratio.max": np.where(LATE, 4.0, 1.2), "policy.clip_fraction": np.where(LATE, 0.0, 0.02)}
    assert found(ID, run(curves, algorithm="ppo", config={"clip_range": 0.2})).onset == 21


def test_a_clip_that_acts_is_healthy() -> None:
    curves = {"policy.ratio.max": np.full(N, 4.0), "policy.clip_fraction": np.full(N, 0.05)}
    assert silent(ID, run(curves, algorithm="ppo", config={"clip_range": 0.2}))


def test_a_divergence_that_clipped_ratios_cannot_have_is_found() -> None:
    curves = {"kl.old": np.where(LATE, 0.15, 0.002), "policy.clip_fraction": np.zeros(N)}
    finding = found(ID, run(curves, algorithm="ppo", config={"clip_range": 0.2}))
    assert finding.onset == 21
    assert "0.15 nats" in finding.message


def test_a_divergence_that_a_wider_clip_range_allows_is_healthy() -> None:
    curves = {"kl.old": np.full(N, 0.15), "policy.clip_fraction": np.zeros(N)}
    assert silent(ID, run(curves, algorithm="ppo", config={"clip_range": 0.4}))
