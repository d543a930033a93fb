"""Further audit rows: one question about the samples in one file, whose name is the row's id. There is no list to edit.

A row is a module with a docstring (first line: its title), `LINK: Link`, and

    def examine(evidence: Evidence) -> Finding | Expected | NotMeasured | NotApplicable | None

Third parties name a module under the entry-point group `firstbreak.audit.rows`. No row sees the truth; see `blind`.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import entry_points

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.diversity import Diversity
from firstbreak.audit.shift import Part, Side
from firstbreak.audit.table import Table
from firstbreak.model import Expected, Finding, Link, NotApplicable, NotMeasured

Found = Finding | Expected | NotMeasured | NotApplicable | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """What a row may look at."""

    table: Table
    sides: Mapping[str, Side]  #: side metric by id
    parts: tuple[Part, ...]  #: reward components
    diversity: Diversity | None
    rewarded: bool  #: whether the reward rose
    latest: tuple[PolicySample, ...]  #: samples of the newest step


@dataclass(frozen=True)
class AuditRow:
    """One file of this folder."""

    id: str
    title: str
    doc: str
    link: Link
    examine: Callable[[Evidence], Found]


@cache
def rows() -> Mapping[str, AuditRow]:
    """Row by id, in the order of the alphabet."""
    names = [m.name for m in pkgutil.iter_modules(__path__, __name__ + ".")]
    names += [entry.value for entry in entry_points(group="firstbreak.audit.rows")]
    found = [_row(name) for name in names]
    return {row.id: row for row in sorted(found, key=lambda row: row.id)}


def _row(name: str) -> AuditRow:
    module = importlib.import_module(name)
    doc = inspect.cleandoc(module.__doc__ or "")
    title = doc.partition("\n")[0].rstrip(".")
    return AuditRow(name.rpartition(".")[2].replace("_", "-"), title, doc, module.LINK, module.examine)
