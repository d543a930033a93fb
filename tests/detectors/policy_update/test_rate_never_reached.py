"""A warm-up that is longer than the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.recorded import proof, recorded


def warming_up(over: int) -> list[dict[str, Any]]:
    return [{"rate": min(1.0, step / over) * 1e-4, "configured_rate": 1e-4} for step in range(1, 21)]


def test_a_warm_up_longer_than_the_run_is_proved(tmp_path: Path) -> None:
    assert "the learning rate is 1e-05 of" in proof(recorded(tmp_path, "rate-never-reached", *warming_up(100_000)))


def test_a_warm_up_of_some_updates_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "rate-never-reached", *warming_up(15)).finding is None
