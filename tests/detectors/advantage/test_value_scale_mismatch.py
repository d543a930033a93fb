"""value-scale-mismatch."""

import numpy as np

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "value-scale-mismatch"
RETURNS = 100 + noise(60, 5)


def test_values_near_zero_under_large_returns() -> None:
    assert found(ID, run({"value.mean": noise(60, 0.1, 1), "returns.mean": RETURNS})).severity is Severity.WARNING


def test_values_that_follow_are_healthy() -> None:
    assert silent(ID, run({"value.mean": RETURNS + noise(60, 5, 1), "returns.mean": RETURNS}))


def test_returns_around_zero_say_nothing_wrong() -> None:
    assert silent(ID, run({"value.mean": noise(60, 1, 1), "returns.mean": noise(60)}))


def test_a_method_without_advantages_hears_of_its_targets() -> None:
    curves = {"value.mean": noise(60, 0.1, 1), "returns.mean": RETURNS}
    assert "advantages" in found(ID, run(curves, algorithm="ppo")).message
    assert "targets" in found(ID, run(curves, algorithm="dqn")).message


def test_no_state_is_worth_more_than_its_episode() -> None:
    returns = 25 + noise(80, 3)
    curves = {"value.mean": np.linspace(2, 57, 80), "reward.mean": returns, "epsilon": np.linspace(0.15, 0.05, 80)}
    finding = found(ID, run(curves, algorithm="dqn"))
    assert "whole episode" in finding.message
    assert 40 <= finding.onset <= 60
    first = diagnose(run(curves, algorithm="dqn")).verdict.do_first
    assert first.rstrip(".").lower() in finding.message.lower()  # of the sign, and not of another finding
    assert silent(ID, run({**curves, "value.mean": np.linspace(2, 20, 80)}, algorithm="dqn"))
    assert silent(ID, run({**curves, "reward.mean": returns - 60}, algorithm="dqn"))
