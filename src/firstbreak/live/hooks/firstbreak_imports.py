"""Waits for imports: a function is called directly before or after a module is imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Callable, Container
from types import ModuleType
from typing import Any


def when_imported(
    names: Container[str],
    *,
    before: Callable[[str], None] | None = None,
    after: Callable[[ModuleType], None] | None = None,
) -> None:
    """Call `before` with a module's name as it is looked for, and `after` with the module as soon as its code has run.

    `names` may change later. Modules that are imported already are not looked at.
    """
    sys.meta_path.insert(0, _Imports(names, before, after))


class _Imports(importlib.abc.MetaPathFinder):
    """Finds what the others find."""

    def __init__(
        self, names: Container[str], before: Callable[[str], None] | None, after: Callable[[ModuleType], None] | None
    ) -> None:
        self.names, self.before, self.after = names, before, after

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in self.names:
            return None
        if self.before is not None:
            self.before(name)
        after = self.after
        if after is None:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((s for finder in others if (s := finder.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                after(module)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
