"""Code that runs inside a trainer's process. An experiment and `firstbreak record` put this folder first in PYTHONPATH.

The trainer's environment does not need firstbreak. The files use the standard library, numpy, and libraries that the trainer
has already imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

FOLDER = Path(__file__).parent


def python_path(environment: Mapping[str, str]) -> str:
    """The PYTHONPATH with which a process of this environment is hooked: this folder, then what was there."""
    return os.pathsep.join(part for part in (str(FOLDER), environment.get("PYTHONPATH", "")) if part)
