"""How `firstbreak record` starts a command: the environment with which each of its Python processes is recorded."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstbreak.live import hooks

FOLDER = "FIRSTBREAK_RECORDER"  #: the environment's variable with the folder that is written
RAY_HOOK = "RAY_RUNTIME_ENV_HOOK"  #: Ray's own: a function that changes the environment of its processes


def environment(folder: Path, before: Mapping[str, str]) -> dict[str, str]:
    """The environment of a process that is recorded, with all that it starts."""
    hook = before.get(RAY_HOOK, f"{__name__}.in_ray")
    return {**before, FOLDER: str(folder.resolve()), "PYTHONPATH": hooks.python_path(before), RAY_HOOK: hook}


def in_ray(runtime_env: Mapping[str, Any] | None) -> dict[str, Any]:
    """Ray's processes are recorded as well: those of a cluster do not inherit the environment of the command."""
    given = dict(runtime_env or {})
    ours = {name: os.environ[name] for name in (FOLDER, "PYTHONPATH") if name in os.environ}
    return given | {"env_vars": ours | dict(given.get("env_vars") or {})}
