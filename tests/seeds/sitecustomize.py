"""`make test-seeds`: adds $FIRSTBREAK_TEST_SEED to every seed that is given to torch, in the tests and in what they start.

tests/conftest.py calls `install`, and puts this folder into PYTHONPATH, so that a script that a test starts is changed as well.
"""

import importlib.abc
import importlib.util
import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

SEED = int(os.environ.get("FIRSTBREAK_TEST_SEED") or 0)


def shift(torch: Any, by: int = SEED) -> None:
    """Add `by` to the seeds that torch gets from now on, and seed what is never seeded."""
    given, start = torch.manual_seed, torch.Generator.manual_seed

    class Generator(torch.Generator):  # type: ignore[misc]
        def manual_seed(self, seed: int) -> Any:
            return start(self, int(seed) + by)

    torch.manual_seed = torch.random.manual_seed = lambda seed: given(int(seed) + by)
    torch.Generator = Generator
    torch.manual_seed(0)


class _AfterTorch(importlib.abc.MetaPathFinder):
    """Shifts the seeds as soon as torch is imported, and imports nothing itself."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def executed(module: ModuleType) -> None:
                execute(module)
                shift(module)

            spec.loader.exec_module = executed  # type: ignore[method-assign]
        return spec


def install() -> None:
    """Shift the seeds of this process, once."""
    there = {type(finder).__name__ for finder in sys.meta_path}  # a process of xdist has this file under two names
    if SEED and _AfterTorch.__name__ not in there and "torch" not in sys.modules:
        sys.meta_path.insert(0, _AfterTorch())


install()
