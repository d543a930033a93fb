"""Where and when a figure was measured."""

import datetime
import os
import platform
from importlib.metadata import version
from typing import Any

PACKAGES = ("firstbreak", "numpy")


def environment(command: str, packages: tuple[str, ...] = PACKAGES) -> dict[str, Any]:
    """Machine, versions, date and the command that measures again; the first keys of every file in results/."""
    return {
        "command": command,
        "date": datetime.date.today().isoformat(),
        "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        "python": platform.python_version(),
        "versions": {name: version(name) for name in packages},
    }
