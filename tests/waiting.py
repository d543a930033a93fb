"""Waiting for what another process or thread does: for a condition, however busy the machine is, and never for a time."""

import time
from collections.abc import Callable

PATIENCE = 600.0  #: seconds: only so that what never happens fails a test rather than hanging it


def until(condition: Callable[[], object]) -> bool:
    """Wait until a condition holds; whether it ever did."""
    end = time.monotonic() + PATIENCE
    while not (met := condition()) and time.monotonic() < end:
        time.sleep(0.02)
    return bool(met)
