"""The update of a bundle once more, and whether it comes out the same.

The code that builds the trainer is the user's: they name it, and nothing that a bundle holds is executed. The bundle puts
weights, optimizer, random numbers and data in place.
"""

from __future__ import annotations

import importlib
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstbreak.guard import bundle
from firstbreak.readers import Unreadable

ADAPTERS = ("torch", "sb3", "trl", "lightning")
TOLERANCE = 1e-5  #: relative: sums may be taken in another order on another machine


@dataclass(frozen=True)
class Compared:
    """One number of the update."""

    name: str
    then: float
    now: float

    @property
    def equal(self) -> bool:
        """Within TOLERANCE; two values that are not finite are equal where they are the same."""
        both_nan = math.isnan(self.then) and math.isnan(self.now)
        return both_nan or self.then == self.now or math.isclose(self.then, self.now, rel_tol=TOLERANCE, abs_tol=1e-9)


def replay(folder: Path, built: Any) -> list[Compared]:
    """Run the update again on what the user's code has `built`. Raises `Unreadable` where the bundle does not hold enough."""
    manifest = bundle.read(folder)
    adapter = manifest["adapter"]
    missing = [name for name in ("state.pt", "batch.pt") if name not in manifest["files"]]
    if adapter not in ADAPTERS or missing:
        held = f"holds no {' and no '.join(missing)}" if missing else f"is of {adapter or 'no adapter'}"
        why = "; ".join(f"{name}: {reason}" for name, reason in manifest["lost"].items())
        raise Unreadable(
            folder, f"{held}, so its update cannot be run again{f' ({why})' if why else ''}", "see README.md"
        )
    measured: Mapping[str, Any] = manifest["measured"]
    module = importlib.import_module(f"firstbreak.guard.adapters.{adapter}")
    again: Mapping[str, float] = module.replay(built, folder)
    return [Compared(name, float(measured[name]), value) for name, value in again.items() if name in measured]


def build(place: str) -> Any:
    """What `module:function` returns, the module being looked for in the working directory too. Raises `Unreadable`."""
    name, _, function = place.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        make = getattr(importlib.import_module(name.removesuffix(".py").replace("/", ".")), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise Unreadable(place, str(error), "give MODULE:FUNCTION, a function without arguments") from None
    finally:
        sys.path.pop(0)
    return make()
