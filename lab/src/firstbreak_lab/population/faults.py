"""Faults by name. One that the lab or the micro-lab has as well has its link, its cause and its accepted links from there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from firstbreak.model import Link
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.micro.faults import faults as micro_faults
from firstbreak_lab.population.family import TrainerFault

ON = (1.0, 1.0)  #: a fault that is there or not

#: faults of several families that neither the lab nor the micro-lab has: name -> link, other links that are right too
OWN: Mapping[str, tuple[Link, Mapping[Link, str]]] = {}


def fault(
    name: str,
    severity: tuple[float, float] = ON,
    unit: str = "",
    *,
    link: Link | None = None,
    accepted: Mapping[Link, str] | None = None,
    cause: str | None = None,
    whole: bool = False,
    from_start: bool = False,
    needs: str = "",
) -> TrainerFault:
    """A fault of a family. Give `link` and `accepted` where no other part of the lab knows the name."""
    if link is None:
        link, accepted, cause = _known(name)
    return TrainerFault(
        name=name,
        link=link,
        severity=severity,
        unit=unit,
        cause=cause,
        accepted=accepted or {},
        whole=whole,
        from_start=from_start,
        needs=needs or ("evaluation" if link is Link.EVALUATION else ""),
    )


def by_name(faults: Iterable[TrainerFault]) -> Mapping[str, TrainerFault]:
    """The faults of a family, as its FAULTS are."""
    return {one.name: one for one in faults}


def _known(name: str) -> tuple[Link, Mapping[Link, str], str | None]:
    if name in OWN:
        return *OWN[name], None
    if name in micro_faults():
        known = micro_faults()[name]
        return known.link, known.accepted, known.cause
    variant = catalogue()[name]
    if variant.link is None:
        raise ValueError(f"{name} is a healthy variant")
    return variant.link, variant.accepted, variant.cause
