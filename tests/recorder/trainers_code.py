"""verl, OpenRLHF and AReaL through their own modules, as they ship, where no GPU and no engine is.

They are installed without their dependencies (see the Makefile). Other people's packages that a module imports and the test
does not call are stood in for by empty classes; nothing of the trainer's own is.
"""

import importlib.util
import os
import sys
import types
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

import pytest

import firstbreak
from firstbreak.live.recorder import seams
from tests.detectors import look

TRACKERS = Path(sys.prefix) / "trackers"


class Empty(type):
    """A class without content, and so is every name in it. An instance that decorates something leaves it as it is."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return Empty(name, (), {"__init__": lambda *_, **__: None, "__call__": lambda _, given=None, **__: given})


class Absent(types.ModuleType):
    """A package that is not installed: every name in it is an empty class."""

    def __getattr__(self, name: str) -> Any:
        return Empty.__getattr__(Empty, name)


class StandIns(MetaPathFinder, Loader):
    """Finds the packages that are not installed, with all of their modules."""

    def __init__(self, packages: Collection[str]) -> None:
        self.packages = packages

    def find_spec(self, name: str, path: Any, target: Any = None) -> ModuleSpec | None:
        return ModuleSpec(name, self, is_package=True) if name.partition(".")[0] in self.packages else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return Absent(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """It has no content."""


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
    missing = {name for name in needs if importlib.util.find_spec(name) is None}
    sys.meta_path.append(StandIns(missing))
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
    return look.proved(firstbreak.read(folder))


def measured(folder: Path) -> set[str]:
    """The identities that were measured."""
    return {name.removeprefix("proof.") for name in firstbreak.read(folder).series}
