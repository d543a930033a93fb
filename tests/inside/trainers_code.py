"""verl, OpenRLHF and AReaL through their own modules, as they ship, where no GPU and no engine is.

They are installed without their dependencies (see the Makefile). Other people's packages that a module imports and the test
does not call are stood in for by empty classes; nothing of the trainer's own is.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import types
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import firstbreak
from firstbreak.inside import seams

TRACKERS = Path(sys.prefix) / "trackers"


class Absent(types.ModuleType):
    """A package that is not installed: every name in it is an empty class."""

    __path__: list[str] = []  # noqa: RUF012

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.__spec__ = ModuleSpec(name, None)  # others look for the package before they use it

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(name, (), {"__init__": lambda *_, **__: None})


def needs_tracker(package: str) -> None:
    """Skips the test where the trainer is not installed."""
    if (TRACKERS / package).exists():
        return
    missing = f"{package} is not installed in {TRACKERS}: `make setup-test` does it"
    if os.environ.get("CI"):
        pytest.fail(missing)
    pytest.skip(missing)


def absent(needs: Sequence[str]) -> set[str]:
    """Stand in for the packages that are not installed, and return their names."""
    missing = {top for top in (need.partition(".")[0] for need in needs) if importlib.util.find_spec(top) is None}
    sys.modules.update({need: Absent(need) for need in needs if need.partition(".")[0] in missing})
    return missing


@contextmanager
def trainer(package: str, needs: Sequence[str], folder: Path) -> Iterator[None]:
    """The trainer's package can be imported, and its seams write into `folder`. Afterwards it is forgotten."""
    needs_tracker(package)
    before, finders = dict(sys.modules), list(sys.meta_path)
    sys.path.append(str(TRACKERS))
    stood_in = absent(needs)
    seams.install(package, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(TRACKERS))
        sys.meta_path[:] = finders
        for name in set(sys.modules) - set(before):
            if name.partition(".")[0] in {package, *stood_in}:
                del sys.modules[name]


def proved(folder: Path) -> set[str]:
    """The checks of proofs that fail on what was recorded."""
    run = firstbreak.read(folder)
    return {o.detector for o in firstbreak.check(run) if "proof" in o.roles and o.finding is not None}


def measured(folder: Path) -> set[str]:
    """The identities that were measured."""
    return {name.removeprefix("proof.") for name in firstbreak.read(folder).series}
