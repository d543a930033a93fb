"""no-random-actions: a method that learns the values of actions and tries only the best one."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "no-random-actions"


@pytest.mark.parametrize(("learns", "severity"), [(False, Severity.WARNING), (True, Severity.NOTICE)])
def test_an_epsilon_of_0_is_a_warning_unless_something_was_learned(learns: bool, severity: Severity) -> None:
    score = (learning(100, 20, 180) if learns else np.full(100, 20.0)) + noise(100, 3)
    finding = found(ID, run({"epsilon": [0.0] * 100, "reward.mean": score}, algorithm="dqn"))
    assert finding.severity is severity
    assert "the share of random actions is 0 at most" in finding.message


def test_one_that_begins_above_0_is_silent() -> None:
    silent(ID, run({"epsilon": np.maximum(0, 1 - np.arange(100) / 20)}, algorithm="dqn"))
