"""A learning rate that is multiplied half-way, and schedules that never pass the configured one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.recorded import proof, recorded


def rates(*shares: float) -> list[dict[str, Any]]:
    return [{"rate": share * 1e-4, "configured_rate": 1e-4} for share in shares]


def test_a_rate_that_is_multiplied_is_proved_from_there_on(tmp_path: Path) -> None:
    said = proof(recorded(tmp_path, "rate-above-configured", *rates(1, 1, 1, 30, 30, 30)))
    assert "the learning rate is 30 times the configured one" in said
    assert "Proved at step 4" in said


def test_a_schedule_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "rate-above-configured", *rates(0.2, 0.6, 1, 1, 0.5, 0.1)).finding is None
