"""Finds detectors and causes in their folders and entry points. There is no list to edit.

A detector's signature is its metadata: positional parameters are the inputs it needs, positional parameters with the
default `None` are used if recorded, keyword-only parameters are thresholds. An input is a signal (`kl.ref` is asked
for as `kl_ref`), a derived input (see inputs.py), or one of `run`, `config`, `samples`. Detectors that are one limit of one
identity of the recorder are rows of a link's proofs.toml."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from types import ModuleType
from typing import Any

from firstbreak import plugins
from firstbreak.engine import index, refutations
from firstbreak.engine.checks import Answer, Check, Threshold
from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import EVERY, Families
from firstbreak.engine.inputs import Inputs, known
from firstbreak.engine.refutations import Refutation
from firstbreak.model import EMPTY, Link, Role, Weight
from firstbreak.plugins import BadPlugin
from firstbreak.values import dataclass


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


class Listed(Check):
    """A detector whose file is read only when it is asked, or when its text or its thresholds are wanted.

    All else stands in the table of what detectors need (index.py).
    """

    @cached_property
    def _whole(self) -> Check:
        return self.__dict__["read"]()  # type: ignore[no-any-return]

    @cached_property
    def ask(self) -> Callable[..., Answer]:
        question = self.__dict__["question"]
        return question() if question else self._whole.ask

    @cached_property
    def doc(self) -> str:
        return self._whole.doc

    @cached_property
    def thresholds(self) -> Mapping[str, Threshold]:
        return self._whole.thresholds


class ListedCause(Cause):
    """A cause whose file is imported only where it is asked something, or shown."""

    @cached_property
    def _whole(self) -> Cause:
        return _cause(importlib.import_module(self.__dict__["module"]), self.link)

    @cached_property
    def doc(self) -> str:
        return self._whole.doc

    @cached_property
    def applies(self) -> Callable[[Inputs], bool]:
        return importlib.import_module(self.__dict__["module"]).applies  # type: ignore[no-any-return]

    @cached_property
    def weights(self) -> Callable[[Inputs], list[Weight]]:
        return importlib.import_module(self.__dict__["module"]).weights  # type: ignore[no-any-return]

    @cached_property
    def refuted_by(self) -> tuple[Refutation, ...]:
        return self._whole.refuted_by


@cache
def detectors() -> Mapping[str, Check]:
    """Detector id -> detector, in loop order, then by id."""
    return _by_link("detectors", "detect", _detector, _listed, _proofs())


@cache
def causes() -> Mapping[str, Cause]:
    """Cause id -> cause, in loop order, then by id."""
    return _by_link("causes", "FINDINGS", _cause, _listed_cause)


def _by_link(
    kind: str,
    attribute: str,
    build: Callable[[ModuleType, Link], Any],
    listed: Callable[[str, Link, index.Row], Any],
    more: Iterable[Any] = (),
) -> Mapping[str, Any]:
    items = list(more)
    for link, name, row in index.rows(kind):
        if row is not None:
            items.append(listed(name, link, row))
        elif hasattr(module := importlib.import_module(name), attribute):
            items.append(build(module, link))
    others = map(importlib.import_module, plugins.elsewhere(f"firstbreak.{kind}"))
    items += [build(module, _link(module)) for module in others]
    found: dict[str, Any] = {}
    for item in sorted(items, key=lambda item: (item.link.order, item.id)):
        if item.id in found:
            raise BadPlugin(f"{kind}: the name {item.id!r} is taken twice")
        found[item.id] = item
    return found


def _proofs() -> Iterator[Check]:
    for link, _, rows in index.proofs():
        if rows is None:
            yield from _table_of(link).values()
        for name, row in (rows or {}).items():
            yield _lazy(name, link, row, lambda link=link, name=name: _table_of(link)[name])  # type: ignore[misc]


def _table_of(link: Link) -> Mapping[str, Check]:
    return importlib.import_module("firstbreak.knowledge.detectors._table").proofs(link)  # type: ignore[no-any-return]


def _listed(module: str, link: Link, row: index.Row) -> Check:
    name = plugins.identity(module.rpartition(".")[2])
    question = lambda: _question(importlib.import_module(module))  # noqa: E731
    return _lazy(name, link, row, lambda: _detector(importlib.import_module(module), link), question)


def _question(module: ModuleType) -> Callable[..., Answer]:
    """The function of a detector, whose thresholds are plain numbers."""
    _thresholds(module.detect)
    return module.detect  # type: ignore[no-any-return]


def _lazy(
    name: str,
    link: Link,
    row: index.Row,
    read: Callable[[], Check],
    question: Callable[[], Callable[..., Answer]] | None = None,
) -> Check:
    detector = object.__new__(Listed)
    vars(detector).update(
        read=read,
        question=question,
        id=name,
        link=link,
        title=row["title"],
        needs=tuple(row.get("needs", ())),
        uses=tuple(row.get("uses", ())),
        families=index.families(row),
        roles=frozenset(map(Role, row.get("roles", ()))),
        either_score=row.get("either_score", False),
    )
    return detector


def _listed_cause(module: str, link: Link, row: index.Row) -> Cause:
    cause = object.__new__(ListedCause)
    known: dict[str, Any] = {
        "applies": _FUNCTIONS.get(row.get("applies", "always")),
        "weights": None if row.get("weights") else _no_weights,
        "refuted_by": tuple(map(_FUNCTIONS.get, row.get("refuted_by", ()))),
    }
    if None in known["refuted_by"]:
        known["refuted_by"] = None
    vars(cause).update(
        module=module,
        id=plugins.identity(module.rpartition(".")[2]),
        link=link,
        title=row["title"],
        findings=row["findings"],
        prior=row.get("prior", 1.0),
        families=index.families(row),
        settings={name: Side(side) for name, side in row.get("settings", {}).items()},
        experiments=tuple(row["experiments"]),
        **{name: value for name, value in known.items() if value is not None},
    )
    return cause


def _always(inputs: Inputs) -> bool:
    return True


def _no_weights(inputs: Inputs) -> list[Weight]:
    return []


#: what many causes ask, by the name that it has in the table
_FUNCTIONS: Mapping[str, Any] = {"always": _always} | {
    name: function for name, function in vars(refutations).items() if inspect.isfunction(function)
}


def table() -> str:
    """The table as it has to be, for `make docs`."""
    kinds = {"detectors": _row_of_file, "causes": _row_of_cause}
    tables = {
        link.value: {"bytes": size, "rows": {name: _row_of_detector(row) for name, row in _table_of(link).items()}}
        for link, size, _ in index.proofs()
    }
    return index.text({kind: index.written(kind, say) for kind, say in kinds.items()} | {"proofs": tables})


def _row_of_file(name: str) -> dict[str, Any]:
    module = importlib.import_module(name)
    return _row_of_detector(_detector(module, _link(module)))


def _row_of_detector(whole: Check) -> dict[str, Any]:
    row = {
        "title": whole.title,
        "needs": list(whole.needs),
        "uses": list(whole.uses),
        **index.saved(whole.families),
        "roles": sorted(whole.roles),
        "either_score": whole.either_score,
    }
    return _filled(row)


def _row_of_cause(name: str) -> dict[str, Any]:
    module = importlib.import_module(name)
    whole = _cause(module, _link(module))
    names = {function: name for name, function in _FUNCTIONS.items()}
    row = {
        "title": whole.title,
        "findings": dict(whole.findings),
        "prior": whole.prior if whole.prior != 1.0 else None,
        **index.saved(whole.families),
        "settings": {name: side.value for name, side in whole.settings.items()},
        "applies": names.get(whole.applies, "?") if whole.applies is not _always else None,
        "weights": whole.weights is not _no_weights,
        "refuted_by": [names.get(refutation, "?") for refutation in whole.refuted_by],
        "experiments": list(whole.experiments),
    }
    return _filled(row)


def _filled(row: Mapping[str, Any]) -> dict[str, Any]:
    """Without what is empty. "?" stands for a function of the file's own."""
    return {name: value for name, value in row.items() if value or name in ("title", "experiments", "findings")}


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
    parameters = inspect.signature(module.detect).parameters.values()
    inputs = [p for p in parameters if p.kind is not p.KEYWORD_ONLY]
    if unknown := [p.name for p in inputs if not known(p.name)]:
        line = inspect.getsourcelines(module.detect)[1]
        raise BadPlugin(
            f"{module.__file__}:{line}: {unknown[0]!r} is neither a signal, a derived input nor run/config/samples"
        )
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


@cache
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
        applies=getattr(module, "applies", _always),
        weights=getattr(module, "weights", _no_weights),
        settings=getattr(module, "SETTINGS", EMPTY),
        refuted_by=tuple(getattr(module, "REFUTED_BY", ())),
        experiments=(named,) if isinstance(named := module.EXPERIMENT, str) else tuple(named),
    )
