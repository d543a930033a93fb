"""A critic whose learning rate does not arrive."""

from pathlib import Path
from typing import Any

from tests.detectors.recorded import proof, recorded


def rates(share: float) -> list[dict[str, Any]]:
    return [{"critic_rate": share * 1e-3, "configured_critic_rate": 1e-3} for _ in range(12)]


def test_a_rate_of_zero_is_proved(tmp_path: Path) -> None:
    assert "the learning rate of the critic is 0 of" in proof(recorded(tmp_path, "critic-rate-gone", *rates(0.0)))


def test_the_configured_rate_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "critic-rate-gone", *rates(1.0)).finding is None
