"""observation-stands-still: a part of the state that is no longer seen."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import run

ID = "observation-stands-still"


def test_components_that_stop_moving_are_found_where_they_stop() -> None:
    finding = found(ID, run({"env.observation_constant": [0.0] * 20 + [0.5] * 20}))
    assert finding.severity is Severity.CRITICAL
    assert finding.onset == 21
    assert "50 %" in finding.message


def test_what_is_constant_by_nature_is_healthy() -> None:
    assert silent(ID, run({"env.observation_constant": [0.25] * 40}))


def test_a_policy_that_rests_for_a_while_is_healthy() -> None:
    assert silent(ID, run({"env.observation_constant": np.where(np.arange(40) % 20 < 5, 0.5, 0.0)[::-1]}))


def test_few_windows_say_nothing() -> None:
    assert look(ID, run({"env.observation_constant": [0.0, 1.0]})).status is Status.NOT_MEASURED
