"""Finds readers, dialects, detectors and causes by walking their folders and the entry points. There is no list to edit.

A detector's signature is its metadata: positional parameters are the inputs it needs, positional parameters with the
default `None` are used if recorded, keyword-only parameters are thresholds. An input is a signal (`kl.ref` is asked
for as `kl_ref`), a derived input (see inputs.py), or one of `run`, `config`, `samples`."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

from firstbreak import signals
from firstbreak.inputs import DERIVED
from firstbreak.model import Experiment, Link, Weight

RUN_INPUTS = frozenset({"run", "config", "samples"})


class BadPlugin(TypeError):
    """A detector or cause that does not keep the contract; the message names file and line."""


@dataclass(frozen=True)
class Detector:
    """One file of detectors/<link>/."""

    id: str
    link: Link
    title: str
    doc: str
    detect: Callable[..., Any]
    needs: tuple[str, ...]  #: inputs without which it cannot look
    uses: tuple[str, ...]  #: inputs it uses where they were recorded
    thresholds: Mapping[str, Any]


@dataclass(frozen=True)
class Cause:
    """One file of causes/<link>/."""

    id: str
    link: Link
    title: str
    doc: str
    findings: Mapping[str, float]  #: detector id -> P(found | this cause), in the order in which they are expected
    prior: float
    applies: Callable[[Any], bool]  #: Inputs -> whether the cause is possible in this kind of run
    facts: Callable[[Any], list[Weight]]  #: Inputs -> evidence from configuration and kind of run
    experiment: Experiment


def sections(doc: str) -> dict[str, str]:
    """A docstring's `## Heading` blocks by heading; the text before the first one is under ''."""
    parts = re.split(r"^## +(.+)$", inspect.cleandoc(doc or ""), flags=re.MULTILINE)
    return {"": parts[0].strip(), **{h.strip(): t.strip() for h, t in zip(parts[1::2], parts[2::2], strict=True)}}


@cache
def detectors() -> Mapping[str, Detector]:
    """Detector id -> detector, in loop order, then by id."""
    return _by_link("detectors", _detector)


@cache
def causes() -> Mapping[str, Cause]:
    """Cause id -> cause, in loop order, then by id."""
    return _by_link("causes", _cause)


@cache
def readers() -> Mapping[str, ModuleType]:
    """Format -> reader module, the highest PRIORITY first."""
    modules = {m.__name__.rpartition(".")[2]: m for m in _modules("readers") if hasattr(m, "sniff")}
    return dict(sorted(modules.items(), key=lambda item: (-getattr(item[1], "PRIORITY", 0), item[0])))


def _by_link(kind: str, build: Callable[[ModuleType, Link], Any]) -> Mapping[str, Any]:
    found: dict[str, Any] = {}
    for module in _modules(kind):
        folder = module.__name__.rpartition(".")[0].rpartition(".")[2]
        link = getattr(module, "LINK", None) or (Link(folder) if folder in set(Link) else None)
        if link is None:
            raise BadPlugin(f"{module.__file__}: lies in no link's folder and names no LINK")
        item = build(module, link)
        if item.id in found:
            raise BadPlugin(f"{module.__file__}: the id {item.id!r} is taken")
        found[item.id] = item
    return dict(sorted(found.items(), key=lambda pair: (pair[1].link.order, pair[0])))


def _modules(kind: str) -> list[ModuleType]:
    """Every module below firstbreak.<kind>, then every module that an entry point of group firstbreak.<kind> names."""
    package = importlib.import_module(f"firstbreak.{kind}")
    names = [m.name for m in pkgutil.walk_packages(package.__path__, package.__name__ + ".") if not m.ispkg]
    names += [m.name for m in pkgutil.iter_modules(package.__path__, package.__name__ + ".") if m.ispkg]
    names += [entry.value for entry in entry_points(group=f"firstbreak.{kind}")]
    own = {"detectors": "detect", "causes": "FINDINGS"}.get(kind)
    modules = [importlib.import_module(name) for name in names if not name.rpartition(".")[2].startswith("_")]
    return [m for m in modules if own is None or hasattr(m, own)]


def _identity(module: ModuleType) -> tuple[str, str, str]:
    doc = inspect.cleandoc(module.__doc__ or "")
    return module.__name__.rpartition(".")[2].replace("_", "-"), doc.partition("\n")[0], doc


def _detector(module: ModuleType, link: Link) -> Detector:
    needs, uses, thresholds = [], [], {}
    for p in inspect.signature(module.detect).parameters.values():
        if p.kind is p.KEYWORD_ONLY:
            thresholds[p.name] = p.default
        elif not _known(p.name):
            line = inspect.getsourcelines(module.detect)[1]
            raise BadPlugin(
                f"{module.__file__}:{line}: {p.name!r} is neither a signal, a derived input nor run/config/samples"
            )
        elif p.default is p.empty:
            needs.append(p.name)
        else:
            uses.append(p.name)
    name, title, doc = _identity(module)
    return Detector(name, link, title, doc, module.detect, tuple(needs), tuple(uses), thresholds)


def _known(name: str) -> bool:
    return name in RUN_INPUTS or name in DERIVED or name in signals.BY_PARAMETER


def _cause(module: ModuleType, link: Link) -> Cause:
    name, title, doc = _identity(module)
    return Cause(
        id=name,
        link=link,
        title=title,
        doc=doc,
        findings=module.FINDINGS,
        prior=getattr(module, "PRIOR", 1.0),
        applies=getattr(module, "applies", lambda inputs: True),
        facts=getattr(module, "facts", lambda inputs: []),
        experiment=module.EXPERIMENT,
    )
