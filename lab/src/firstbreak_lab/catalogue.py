"""Finds faults and healthy variants in their folders. There is no list to edit.

A fault is a module `faults/<link>/<name>.py` with

    docstring                                       what it breaks, the chain of symptoms, a healthy look-alike, source
    CAUSE: str                                      the cause of the fault (an id of firstbreak.knowledge.causes)
    ONSET: float                                    where the fault starts, as a share of the run; 0: at the first step
    SEVERITIES: dict[str, tuple[float, ...]]        base -> severities, the mildest first
    def inject(settings, severity, onset) -> None   injects the fault; `onset` is the first affected step
    OUTCOME: str                                    optional: the outcome that the harm test compares (harm_test.py),
                                                    if it is not the usual one of the fault's link
    ACCEPTED: dict[str, str]                        optional: other links that a practitioner would accept as the first one
                                                    to look at, each with the reason in one line

and a healthy variant is a module `healthy/<name>.py` with a docstring, BASES and `def vary(settings) -> None`.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

from firstbreak import plugins
from firstbreak.model import Link


@dataclass(frozen=True)
class Variant:
    """One thing that a run can have changed: an injected fault, or a healthy variant (without link and cause)."""

    id: str
    title: str
    doc: str
    bases: Mapping[str, tuple[float, ...]]  #: base -> severities, mildest first; (0.0,) for a healthy variant
    inject: Callable[[Any, float, int], None]
    link: Link | None = None
    cause: str | None = None
    onset: float = 0.0  #: share of the run
    outcome: str | None = None  #: compared by the harm test, if it is not the usual one of the link (harm_test.py)
    accepted: Mapping[Link, str] = field(default_factory=dict)  #: other links that are right too -> the reason

    @property
    def healthy(self) -> bool:
        """Whether this is a healthy variant."""
        return self.link is None


@cache
def catalogue() -> Mapping[str, Variant]:
    """Every variant by id: the faults in the order of the loop, then the healthy variants."""
    faults = sorted(
        map(_fault, plugins.modules("firstbreak_lab.faults", "inject").values()),
        key=lambda variant: (variant.link, variant.id),
    )
    healthy = sorted(
        map(_healthy, plugins.modules("firstbreak_lab.healthy", "vary").values()), key=lambda variant: variant.id
    )
    variants = sorted(faults, key=lambda variant: (variant.link.order if variant.link else 0, variant.id)) + healthy
    names = [variant.id for variant in variants]
    if len(set(names)) < len(names):
        raise ValueError(
            f"two faults or healthy variants have the same id: {sorted(n for n in names if names.count(n) > 1)}"
        )
    return {variant.id: variant for variant in variants}


def _fault(module: ModuleType) -> Variant:
    *_, link, _ = module.__name__.split(".")
    return Variant(
        **_identity(module),
        bases=module.SEVERITIES,
        inject=module.inject,
        link=Link(link),
        cause=module.CAUSE,
        onset=module.ONSET,
        outcome=getattr(module, "OUTCOME", None),
        accepted={Link(link): reason for link, reason in getattr(module, "ACCEPTED", {}).items()},
    )


def _healthy(module: ModuleType) -> Variant:
    return Variant(
        **_identity(module),
        bases=dict.fromkeys(module.BASES, (0.0,)),
        inject=lambda settings, severity, onset: module.vary(settings),
    )


def _identity(module: ModuleType) -> dict[str, Any]:
    doc = inspect.cleandoc(module.__doc__ or "")
    name = module.__name__.rpartition(".")[2].replace("_", "-")
    return {"id": name, "title": doc.partition("\n")[0], "doc": doc}
