"""reward-component-dead: a part that teaches nothing."""

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "reward-component-dead"


def test_a_constant_part_among_moving_ones_is_named() -> None:
    parts = {"reward.component.format.mean": learning(50), "reward.component.strict.mean": [0.0] * 50}
    finding = found(ID, run(parts))
    assert "strict (always 0)" in finding.message
    assert finding.severity is Severity.NOTICE


def test_all_parts_moving_is_healthy() -> None:
    assert silent(ID, run({"reward.component.a.mean": learning(50), "reward.component.b.mean": noise(50)}))


def test_all_parts_constant_is_another_finding() -> None:
    assert silent(ID, run({"reward.component.a.mean": [0.0] * 50, "reward.component.b.mean": [1.0] * 50}))
