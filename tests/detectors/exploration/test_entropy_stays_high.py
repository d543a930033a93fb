"""entropy-stays-high: as random as it began."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "entropy-stays-high"


def test_entropy_and_score_that_both_stand_still() -> None:
    finding = found(ID, run({"policy.entropy": 1.38 + noise(100, 0.005), "reward.mean": noise(100, 1, 1)}))
    assert finding.severity is Severity.WARNING
    assert "100 %" in finding.message


def test_a_score_that_rises_is_healthy() -> None:
    assert silent(ID, run({"policy.entropy": [1.38] * 100, "reward.mean": learning(100)}))


def test_an_entropy_that_falls_is_another_matter() -> None:
    assert silent(ID, run({"policy.entropy": np.linspace(1.38, 0.7, 100), "reward.mean": noise(100)}))


def test_few_values_say_nothing() -> None:
    assert look(ID, run({"policy.entropy": [1.0], "reward.mean": [0.0]})).status is Status.NOT_MEASURED
