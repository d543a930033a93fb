"""firstbreak: which link of an RL training loop broke first, when, why, and which small experiment proves it."""

from __future__ import annotations

import importlib
from functools import partial
from typing import TYPE_CHECKING, Any

from firstbreak.viewable import Shown

__version__ = "0.1.0"

_HOME = {
    "read": "firstbreak.readers.read",
    "check": "firstbreak.engine.detection",
    "diagnose": "firstbreak.engine.diagnose",
    "Run": "firstbreak.model",
    "Diagnosis": "firstbreak.model",
    "Link": "firstbreak.model",
    "Guard": "firstbreak.live.guard.guard",
    "recorder": "firstbreak.live.recorder.trl.callback",
}
__all__ = ["Diagnosis", "Guard", "Link", "Run", "check", "diagnose", "read", "recorder"]

if TYPE_CHECKING:
    from firstbreak import context as context
    from firstbreak.engine.detection import check
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.live.guard.guard import Guard
    from firstbreak.live.recorder.trl.callback import recorder
    from firstbreak.model import Diagnosis, Link, Run
    from firstbreak.readers.read import read


def __getattr__(name: str) -> Any:
    """Import on first use: `firstbreak --help` must not wait for numpy."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    if name == "context":
        return importlib.import_module("firstbreak.context")
    raise AttributeError(f"module 'firstbreak' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*__all__, "__version__", "context"]


Shown.views = partial(importlib.import_module, "firstbreak.reports.views")
