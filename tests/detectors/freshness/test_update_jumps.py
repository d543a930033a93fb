"""update-jumps: some batches come from another policy."""

from __future__ import annotations

import numpy as np

from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "update-jumps"
N = 100
JUMPS = (np.random.default_rng(1).uniform(size=N) < 0.4) & (np.arange(N) >= 30)
CLIP = np.where(JUMPS, 0.35, 0.05) * np.exp(noise(N, 0.1))
KL = np.where(JUMPS, 0.08, 0.006) * np.exp(noise(N, 0.2, 1))
FLAT = noise(N, 0.1, 2)


def test_jumps_beside_a_flat_score_are_found_where_they_begin() -> None:
    finding = found(ID, run({"policy.clip_fraction": CLIP, "kl.old": KL, "reward.mean": FLAT}))
    assert finding.onset is not None
    assert 28 <= finding.onset <= 40
    assert "older policy" in finding.message


def test_a_score_that_rises_all_the_same_is_healthy() -> None:
    assert silent(ID, run({"policy.clip_fraction": CLIP, "kl.old": KL, "reward.mean": learning(N)}))


def test_what_the_score_gained_before_the_jumps_excuses_nothing() -> None:
    before = np.minimum(np.arange(N) / 25, 1.0) + noise(N, 0.05, 2)
    found(ID, run({"policy.clip_fraction": CLIP, "kl.old": KL, "reward.mean": before}))


def test_steady_updates_and_single_bad_batches_are_healthy() -> None:
    steady = 0.1 * np.exp(noise(N, 0.3))
    assert silent(ID, run({"policy.clip_fraction": steady, "kl.old": KL, "reward.mean": FLAT}))
    few = np.where(np.arange(N) % 40 == 39, CLIP.max(), 0.05)
    assert silent(ID, run({"policy.clip_fraction": few, "kl.old": few / 5, "reward.mean": FLAT}))
