"""What noise hides."""

import numpy as np
import pytest

from firstbreak.engine.detection import check
from firstbreak.engine.stats.power import hidden
from firstbreak.model import Status
from tests.make import noise, run, series


@pytest.mark.parametrize("n", [40, 400])
def test_a_change_of_this_size_is_found_four_times_in_five(n: int) -> None:
    rng = np.random.default_rng(0)
    size = float(np.mean([hidden(series("kl.ref", rng.normal(0, 1, n))) or 0.0 for _ in range(200)]))
    halves = rng.normal(0, 1, (2000, 2, n // 2)).mean(axis=2)
    found = np.abs(halves[:, 1] + size - halves[:, 0]) > 1.96 * np.sqrt(2 / (n // 2))
    assert np.mean(found) == pytest.approx(0.8, abs=0.12)


def test_three_points_say_nothing_of_their_noise() -> None:
    assert hidden(series("kl.ref", np.array([1.0, 2.0, 1.0]))) is None


def test_a_check_that_sees_nothing_says_what_it_could_not_have_seen() -> None:
    outcome = check(run({"policy.clip_fraction": 0.1 + noise(40, 0.02)}), only=["clip-fraction-high"])[0]
    assert outcome.status is Status.OK
    assert outcome.note.startswith("40 values of policy.clip_fraction; their noise hides a lasting change below 0.02")
