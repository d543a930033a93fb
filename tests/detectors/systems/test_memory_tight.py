"""memory-tight: worth a line before it is an out-of-memory error, and only of a device whose size is recorded."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "memory-tight"
SIZE = {"gpu.memory_size": np.full(60, 80.0)}


def test_a_device_that_is_nearly_full_is_worth_a_line() -> None:
    assert "80 GB" in found(ID, run({"memory.gpu": 78 + noise(60, 0.2), **SIZE}), Severity.NOTICE).message


def test_room_to_spare_is_healthy() -> None:
    assert silent(ID, run({"memory.gpu": 60 + noise(60, 0.2), **SIZE}))


def test_no_size_is_assumed() -> None:
    outcome = look(ID, run({"memory.gpu": 47.4 + noise(60, 0.2)}))
    assert outcome.status is Status.NOT_MEASURED
    assert "size of the device is not recorded" in outcome.note
