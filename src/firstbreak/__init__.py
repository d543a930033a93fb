"""firstbreak: which link of an RL training loop broke first, when, why, and which small experiment proves it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "read": "firstbreak.engine.read",
    "check": "firstbreak.engine.check",
    "diagnose": "firstbreak.engine.diagnose",
    "Run": "firstbreak.model",
    "Diagnosis": "firstbreak.model",
    "Link": "firstbreak.model",
    "Guard": "firstbreak.guard.guard",
}
__all__ = ["Diagnosis", "Guard", "Link", "Run", "check", "diagnose", "read"]

if TYPE_CHECKING:
    from firstbreak.engine.check import check
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.engine.read import read
    from firstbreak.guard.guard import Guard
    from firstbreak.model import Diagnosis, Link, Run


def __getattr__(name: str) -> Any:
    """Import on first use: `firstbreak --help` must not wait for numpy."""
    if name in _HOME:
        return getattr(importlib.import_module(_HOME[name]), name)
    raise AttributeError(f"module 'firstbreak' has no attribute {name!r}")
