"""memory-tight: worth a line before it is an out-of-memory error."""

from __future__ import annotations

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "memory-tight"


def test_a_device_that_is_nearly_full_is_worth_a_line() -> None:
    finding = found(ID, run({"memory.gpu": 78 + noise(60, 0.2)}))
    assert finding.severity is Severity.NOTICE
    assert "80 GB" in finding.message


def test_room_to_spare_is_healthy() -> None:
    assert silent(ID, run({"memory.gpu": 60 + noise(60, 0.2)}))
