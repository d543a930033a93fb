"""Runs the update of a bundle again, and compares the results.

The user names a function of their own code that builds the trainer. No code from the bundle is executed. The bundle gives
the weights, the optimizer state, the random numbers and the data.
"""

import importlib
import math
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstbreak.live.guard import bundle
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass

ADAPTERS = ("torch", "sb3", "trl", "lightning")
TOLERANCE = 1e-5  #: relative: another machine may compute sums in another order


@dataclass(frozen=True)
class Compared:
    """One number of the update, then and now."""

    name: str
    then: float
    now: float

    @property
    def equal(self) -> bool:
        """Whether the numbers are equal within TOLERANCE. Two NaNs, or two equal infinities, are equal."""
        both_nan = math.isnan(self.then) and math.isnan(self.now)
        return both_nan or self.then == self.now or math.isclose(self.then, self.now, rel_tol=TOLERANCE, abs_tol=1e-9)


def replay(folder: Path, built: Any) -> list[Compared]:
    """Run the update again on `built`, the result of the user's function. Raises `Unreadable` if the bundle is not sufficient."""
    manifest = bundle.read(folder)
    adapter = manifest["adapter"]
    missing = [name for name in ("state.pt", "batch.pt") if name not in manifest["files"]]
    if adapter not in ADAPTERS or missing:
        held = f"contains no {' and no '.join(missing)}" if missing else f"comes from {adapter or 'no adapter'}"
        why = "; ".join(f"{name}: {reason}" for name, reason in manifest["lost"].items())
        raise Unreadable(
            folder,
            f"{held}, so the update cannot be run again{f' ({why})' if why else ''}",
            "see README.md in the bundle",
        )
    measured = {name: float(value) for name, value in manifest["measured"].items() if isinstance(value, int | float)}
    module = importlib.import_module(f"firstbreak.live.guard.adapters.{adapter}")
    again: Mapping[str, float] = module.replay(built, folder)
    return [Compared(name, measured[name], value) for name, value in again.items() if name in measured]


def build(place: str) -> Any:
    """The result of `module:function`. The module may be in the working directory. Raises `Unreadable`."""
    name, _, function = place.partition(":")
    sys.path.insert(0, str(Path.cwd()))
    try:
        make = getattr(importlib.import_module(name.removesuffix(".py").replace("/", ".")), function)
    except (ImportError, AttributeError, ValueError) as error:
        raise Unreadable(place, str(error), "give MODULE:FUNCTION, a function without arguments") from None
    finally:
        sys.path.pop(0)
    return make()
