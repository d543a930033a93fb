"""Finds detectors and causes in their folders and entry points. There is no list to edit.

A detector's signature is its metadata: positional parameters are the inputs it needs, positional parameters with the
default `None` are used if recorded, keyword-only parameters are thresholds. An input is a signal (`kl.ref` is asked
for as `kl_ref`), a derived input (see inputs.py), or one of `run`, `config`, `samples`. Detectors that are one limit of one
identity of the recorder are rows of a link's proofs.toml, and causes are rows of a link's table; a plug-in's are modules."""

import importlib
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from types import ModuleType
from typing import Any

from firstbreak import plugins
from firstbreak.engine import index
from firstbreak.engine.checks import Answer, Check, Threshold
from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import EVERY, Families
from firstbreak.engine.inputs import Inputs, known
from firstbreak.engine.refutations import Refutation
from firstbreak.model import EMPTY, Link, Role, Weight
from firstbreak.patterns import pattern
from firstbreak.plugins import BadPlugin
from firstbreak.values import dataclass


@dataclass(frozen=True)
class Cause:
    """One row of causes/<link>.toml, or a module of a plug-in."""

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


#: how the docstring of a detector begins a section -> its heading
HEADINGS = {
    "Looks for": "What it looks for",
    "Why": "Why it matters",
    "False alarm": "When it is a false alarm",
    "Fix": "Fix",
    "Experiment": "Smallest experiment",
    "References": "References",
}
_SECTION = pattern(rf"^({'|'.join(HEADINGS)}):[ \n]", re.MULTILINE)


def with_headings(doc: str) -> str:
    """A docstring whose sections begin as in `HEADINGS` ("Why: ..."), with a heading above each."""
    return _SECTION.sub(lambda found: f"\n## {HEADINGS[found[1]]}\n", doc).replace("\n\n\n", "\n\n")


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


@cache
def detectors() -> Mapping[str, Check]:
    """Detector id -> detector, in loop order, then by id."""
    return _by_link("detectors", [*_files(), *_proofs()], _detector)


@cache
def causes() -> Mapping[str, Cause]:
    """Cause id -> cause, in loop order, then by id."""
    table = table_of("causes")
    rows = (
        (name, link, row)
        for link, _, known in index.tables("causes")
        for name, row in (known or table.rows(link)).items()
    )
    return _by_link("causes", [table.cause(*row) for row in rows], _cause)


def _by_link(kind: str, own: Iterable[Any], build: Callable[[ModuleType, Link], Any]) -> Mapping[str, Any]:
    others = map(importlib.import_module, plugins.elsewhere(f"firstbreak.{kind}"))
    items = [*own, *(build(module, _link(module)) for module in others)]
    found: dict[str, Any] = {}
    for item in sorted(items, key=lambda item: (item.link.order, item.id)):
        if item.id in found:
            raise BadPlugin(f"{kind}: the name {item.id!r} is taken twice")
        found[item.id] = item
    return found


def _files() -> Iterator[Check]:
    for link, name, row in index.rows():
        if row is not None:
            yield _listed(name, link, row)
        elif hasattr(module := importlib.import_module(name), "detect"):
            yield _detector(module, link)


def _proofs() -> Iterator[Check]:
    for link, _, rows in index.tables("proofs"):
        if rows is None:
            yield from table_of("detectors").proofs(link).values()
        for name, row in (rows or {}).items():
            yield _lazy(name, link, row, lambda link=link, name=name: table_of("detectors").proofs(link)[name])  # type: ignore[misc]


def table_of(kind: str) -> Any:
    """The module that reads the tables of detectors, causes or experiments."""
    return importlib.import_module(f"firstbreak.knowledge.{kind}._table")


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


def always(inputs: Inputs) -> bool:
    """A cause that is possible in every run of its families."""
    return True


def no_weights(inputs: Inputs) -> list[Weight]:
    """A cause of which the configuration says nothing."""
    return []


def table() -> str:
    """The table as it has to be, for `make docs`."""
    proofs, causes = table_of("detectors").proofs, table_of("causes").rows
    told = {
        "proofs": lambda link: {name: _row_of_detector(row) for name, row in proofs(link).items()},
        "causes": causes,
    }
    tables = {
        kind: {link.value: {"bytes": size, "rows": say(link)} for link, size, _ in index.tables(kind)}
        for kind, say in told.items()
    }
    size, experiments = index.table("experiments", index.CATALOGUE)[0], table_of("experiments").rows()
    tables["experiments"] = {index.CATALOGUE: {"bytes": size, "rows": experiments}}
    return index.text({"detectors": index.written(_row_of_file), **tables})


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
    return {name: value for name, value in row.items() if value or name == "title"}


def _link(module: ModuleType) -> Link:
    folder = module.__name__.split(".")[-2]
    link = getattr(module, "LINK", None) or (Link(folder) if folder in set(Link) else None)
    if link is None:
        raise BadPlugin(f"{module.__file__}: is in no link's folder and has no LINK")
    return Link(link)


def _identity(module: ModuleType) -> tuple[str, str, str]:
    doc = with_headings(inspect.cleandoc(module.__doc__ or ""))
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
        applies=getattr(module, "applies", always),
        weights=getattr(module, "weights", no_weights),
        settings=getattr(module, "SETTINGS", EMPTY),
        refuted_by=tuple(getattr(module, "REFUTED_BY", ())),
        experiments=(named,) if isinstance(named := module.EXPERIMENT, str) else tuple(named),
    )
