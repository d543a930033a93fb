"""no-update: nothing reaches the weights."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "no-update"


def test_a_gradient_of_exactly_zero_is_critical() -> None:
    finding = found(ID, run({"grad.norm": [0.0] * 50, "reward.mean": noise(50)}))
    assert finding.severity is Severity.CRITICAL
    assert finding.onset == 1


def test_silent_groups_leave_nothing_to_update_with() -> None:
    made = run({"grad.norm": [0.0] * 50, "reward.zero_std_frac": [1.0] * 50, "reward.mean": noise(50)})
    assert look(ID, made).expected


def test_a_schedule_that_ends_at_zero_is_healthy() -> None:
    assert silent(ID, run({"lr": np.linspace(1e-4, 0, 50), "grad.norm": 1 + np.abs(noise(50))}))


def test_a_learning_rate_of_zero_is_found() -> None:
    assert found(ID, run({"lr": [0.0] * 50})).metric == "lr"


def test_without_a_gradient_norm_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": noise(50)})).status is Status.NOT_MEASURED
