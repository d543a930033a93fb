"""clip-fraction-high: the brake is always on."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "clip-fraction-high"


def test_half_of_the_batch_clipped_and_nothing_learned() -> None:
    found(ID, run({"policy.clip_fraction": 0.5 + noise(80, 0.03), "reward.mean": noise(80, 1, 1)}), Severity.CRITICAL)


def test_half_of_the_batch_clipped_and_a_rising_score_is_aggressive() -> None:
    assert (
        found(ID, run({"policy.clip_fraction": [0.5] * 80, "reward.mean": learning(80)})).severity is Severity.WARNING
    )


@pytest.mark.parametrize(("updates", "spoken"), [(6, True), (3, False)])
def test_some_updates_at_the_end_are_enough(updates: int, spoken: bool) -> None:
    clip = np.where(np.arange(80) < 80 - updates, 0.05, 0.5)
    assert (look(ID, run({"policy.clip_fraction": clip, "reward.mean": learning(80)})).finding is not None) is spoken


def test_a_tenth_is_healthy() -> None:
    assert silent(ID, run({"policy.clip_fraction": 0.1 + np.abs(noise(80, 0.02)), "reward.mean": learning(80)}))


def test_zero_with_one_update_per_batch_is_expected() -> None:
    made = run({"policy.clip_fraction": [0.0] * 80, "reward.mean": learning(80)}, config={"updates_per_batch": 1})
    assert look(ID, made).expected
