"""Finds faults and healthy variants by walking their folders. There is no list to edit.

A fault is a module `faults/<link>/<name>.py` with

    docstring                                       what it breaks, the chain of symptoms, the healthy look-alike, source
    CAUSE: str                                      the cause it plants (an id of firstbreak.causes)
    ONSET: float                                    where in the run it starts, as a share of the run; 0: at once
    SEVERITIES: dict[str, tuple[float, ...]]        base -> severities, from barely to grossly harmful
    def inject(settings, severity, onset) -> None   plants it; `onset` is the first step that is affected
    SPOILS: str                                     optional: the outcome it harms, where its link's is another (gate.py)

and a healthy variant is a module `healthy/<name>.py` with a docstring, BASES and `def vary(settings) -> None`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from firstbreak.model import Link


@dataclass(frozen=True)
class Plant:
    """A fault, or a healthy variant (without link and cause)."""

    id: str
    title: str
    doc: str
    bases: Mapping[str, tuple[float, ...]]  #: base -> severities, mildest first; (0.0,) where nothing is wrong
    inject: Callable[[Any, float, int], None]
    link: Link | None = None
    cause: str | None = None
    onset: float = 0.0  #: share of the run
    spoils: str | None = None  #: the outcome it harms, where that is not its link's (gate.py)

    @property
    def healthy(self) -> bool:
        """Whether nothing is wrong with it."""
        return self.link is None


@cache
def catalogue() -> Mapping[str, Plant]:
    """Plant by id: the faults in loop order, then the healthy variants."""
    faults = sorted(map(_fault, _modules("faults")), key=lambda plant: (plant.link, plant.id))
    healthy = sorted(map(_healthy, _modules("healthy")), key=lambda plant: plant.id)
    plants = sorted(faults, key=lambda plant: plant.link.order if plant.link else 0) + healthy
    names = [plant.id for plant in plants]
    if len(set(names)) < len(names):
        raise ValueError(f"two plants share an id: {sorted(n for n in names if names.count(n) > 1)}")
    return {plant.id: plant for plant in plants}


def _modules(folder: str) -> list[ModuleType]:
    package = importlib.import_module(f"firstbreak.lab.{folder}")
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return [importlib.import_module(module.name) for module in found if not module.ispkg]


def _fault(module: ModuleType) -> Plant:
    *_, link, _ = module.__name__.split(".")
    return Plant(
        **_identity(module),
        bases=module.SEVERITIES,
        inject=module.inject,
        link=Link(link),
        cause=module.CAUSE,
        onset=module.ONSET,
        spoils=getattr(module, "SPOILS", None),
    )


def _healthy(module: ModuleType) -> Plant:
    return Plant(
        **_identity(module),
        bases=dict.fromkeys(module.BASES, (0.0,)),
        inject=lambda settings, severity, onset: module.vary(settings),
    )


def _identity(module: ModuleType) -> dict[str, Any]:
    doc = inspect.cleandoc(module.__doc__ or "")
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    return {"id": name, "title": doc.partition("\n")[0], "doc": doc}
