"""Finds detectors and causes in their folders and entry points. There is no list to edit.

A detector's signature is its metadata: positional parameters are the inputs it needs, positional parameters with the
default `None` are used if recorded, keyword-only parameters are thresholds. An input is a signal (`kl.ref` is asked
for as `kl_ref`), a derived input (see inputs.py), or one of `run`, `config`, `samples`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import ModuleType
from typing import Any

from firstbreak import plugins
from firstbreak.engine.checks import Check, Threshold
from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import EVERY, Families
from firstbreak.engine.inputs import Inputs, known
from firstbreak.engine.refutations import Refutation
from firstbreak.model import EMPTY, Link, Weight
from firstbreak.plugins import BadPlugin


@dataclass(frozen=True)
class Cause:
    """One file of causes/<link>/."""

    id: str
    link: Link
    title: str
    doc: str
    findings: Mapping[str, float]  #: detector id -> P(found | this cause), in the order in which they are expected
    prior: float
    families: Families  #: for which runs it is possible
    applies: Callable[[Inputs], bool]  #: whether it is possible beyond that
    weights: Callable[[Inputs], list[Weight]]  #: evidence from configuration and kind of run
    settings: Mapping[str, Side]  #: hyperparameter -> what is wrong with it under this cause (common_settings.py)
    refuted_by: tuple[Refutation, ...]  #: what the run must not show (refutations.py)
    experiments: tuple[str, ...]  #: ids in the catalogue: the first that holds for the run's family is proposed


def sections(doc: str) -> dict[str, str]:
    """A docstring's `## Heading` blocks by heading; the text before the first one is under ''."""
    parts = re.split(r"^## +(.+)$", inspect.cleandoc(doc or ""), flags=re.MULTILINE)
    return {"": parts[0].strip(), **{h.strip(): t.strip() for h, t in zip(parts[1::2], parts[2::2], strict=True)}}


@cache
def detectors() -> Mapping[str, Check]:
    """Detector id -> detector, in loop order, then by id."""
    return _by_link("firstbreak.knowledge.detectors", "detect", "firstbreak.detectors", _detector)


@cache
def causes() -> Mapping[str, Cause]:
    """Cause id -> cause, in loop order, then by id."""
    return _by_link("firstbreak.knowledge.causes", "FINDINGS", "firstbreak.causes", _cause)


def _by_link(package: str, attribute: str, group: str, build: Callable[[ModuleType, Link], Any]) -> Mapping[str, Any]:
    items = [build(module, _link(module)) for module in plugins.modules(package, attribute, group).values()]
    return {item.id: item for item in sorted(items, key=lambda item: (item.link.order, item.id))}


def _link(module: ModuleType) -> Link:
    folder = module.__name__.split(".")[-2]
    link = getattr(module, "LINK", None) or (Link(folder) if folder in set(Link) else None)
    if link is None:
        raise BadPlugin(f"{module.__file__}: is in no link's folder and has no LINK")
    return Link(link)


def _identity(module: ModuleType) -> tuple[str, str, str]:
    doc = inspect.cleandoc(module.__doc__ or "")
    return module.__name__.rpartition(".")[2].replace("_", "-"), doc.partition("\n")[0], doc


def _detector(module: ModuleType, link: Link) -> Check:
    name, title, doc = _identity(module)
    line = f"{module.__file__}:{inspect.getsourcelines(module.detect)[1]}"
    parameters = inspect.signature(module.detect).parameters.values()
    inputs = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if unknown := [p.name for p in inputs if not known(p.name)]:
        raise BadPlugin(f"{line}: {unknown[0]!r} is neither a signal, a derived input nor run/config/samples")
    return Check(
        id=name,
        link=link,
        title=title,
        doc=doc,
        ask=module.detect,
        needs=tuple(p.name for p in inputs if p.default is p.empty),
        uses=tuple(p.name for p in inputs if p.default is not p.empty),
        thresholds=_thresholds(module.detect),
        families=getattr(module, "FAMILIES", EVERY),
        roles=frozenset(getattr(module, "ROLES", ())),
        either_score=getattr(module, "EITHER_SCORE", False),
    )


def _thresholds(detect: Callable[..., Any]) -> Mapping[str, Threshold]:
    """The keyword-only parameters of a detector with what they mean. Their defaults become plain numbers."""
    defaults = detect.__kwdefaults__ or {}
    found = {name: getattr(value, "threshold", Threshold("", "", "", value)) for name, value in defaults.items()}
    detect.__kwdefaults__ = {name: threshold.default for name, threshold in found.items()}
    return found


def _cause(module: ModuleType, link: Link) -> Cause:
    name, title, doc = _identity(module)
    return Cause(
        id=name,
        link=link,
        title=title,
        doc=doc,
        findings=module.FINDINGS,
        prior=getattr(module, "PRIOR", 1.0),
        families=getattr(module, "FAMILIES", EVERY),
        applies=getattr(module, "applies", lambda inputs: True),
        weights=getattr(module, "weights", lambda inputs: []),
        settings=getattr(module, "SETTINGS", EMPTY),
        refuted_by=tuple(getattr(module, "REFUTED_BY", ())),
        experiments=(named,) if isinstance(named := module.EXPERIMENT, str) else tuple(named),
    )
