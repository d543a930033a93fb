"""Packages that take a second or more to import, imported when a test first asks for something of them.

Every process of xdist collects all tests. With `ray = lazy("ray")` at its top in place of `import ray`, a file of tests is
collected at once, and a test of it is skipped where an extra would bring the package.
"""

import importlib
import importlib.util
from types import ModuleType
from typing import Any

import pytest


def available(package: str) -> bool:
    """Whether a package is installed, without importing it."""
    return importlib.util.find_spec(package.partition(".")[0]) is not None


def needs(package: str) -> pytest.MarkDecorator:
    """Skips a test where a package is not installed, without importing it."""
    return pytest.mark.skipif(not available(package), reason=f"{package} is not installed")


class LazyModule:
    """Stands for a module, and hands out its attributes and its submodules."""

    __slots__ = ("_name",)

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        """What `monkeypatch` writes back after a test."""
        return vars(imported(self._name))

    def __getattr__(self, attribute: str) -> Any:
        if (
            attribute.startswith("__") and attribute != "__main__"
        ) or attribute == "_mock_name":  # asked by pytest, which looks for tests in everything
            raise AttributeError(attribute)
        module = imported(self._name)
        if not hasattr(module, attribute) and hasattr(module, "__path__"):
            return imported(f"{self._name}.{attribute}")
        return getattr(module, attribute)

    def __setattr__(self, attribute: str, value: Any) -> None:
        setattr(imported(self._name), attribute, value)

    def __delattr__(self, attribute: str) -> None:
        delattr(imported(self._name), attribute)


def imported(name: str) -> ModuleType:
    """The module. Skips the test that asks for it where a package that it needs is not installed."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        if available(missing):
            raise
        pytest.skip(f"{missing} is not installed")


def lazy(name: str) -> Any:
    """A stand-in for a module, which is imported when one of its attributes is first asked for."""
    return LazyModule(name)
