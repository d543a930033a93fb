"""One experiment per file: the file name is the id, the docstring is its page, and the rest is data.

OVERRIDES: dict[str, Any]        canonical option or intervention -> what it becomes (see overrides.py)
QUESTIONS: tuple[Question, ...]  what is asked of the arms, with P(yes | cause)
LENGTH: float                    share of the original run's steps (default 0.1)
SEEDS: int                       least seeds of each arm (default 1)
CONTROL: dict[str, Any]          the overrides of a second arm of the same length (default: no such arm)
THEN: dict[str, tuple[str, ...]] "yes" or "no" to the first question -> experiments that come next
def applies(inputs) -> bool      whether it makes sense for this kind of run

`measured.json` beside this package holds how often each question was answered with yes in the lab's training split, per cause:
experiment -> question -> cause -> [yes, runs]. `python -m benchmarks.experiments learn` writes it.
"""

from __future__ import annotations

import importlib
import inspect
import json
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from firstbreak.engine.registry import sections
from firstbreak.experiments.questions import CONTROL, TREATED, Question
from firstbreak.inputs import Inputs
from firstbreak.model import EMPTY

MEASURED = Path(__file__).parent.parent / "measured.json"


@dataclass(frozen=True, kw_only=True)
class Design:
    """One experiment of the catalogue."""

    id: str
    title: str
    doc: str
    overrides: Mapping[str, Any]
    questions: tuple[Question, ...]
    length: float  #: share of the original run's steps
    seeds: int  #: of each arm, at least
    control: Mapping[str, Any] | None
    bare: bool
    then: Mapping[str, tuple[str, ...]]
    applies: Callable[[Inputs], bool]

    @property
    def arms(self) -> dict[str, Mapping[str, Any]]:
        """Arm -> its overrides."""
        return {TREATED: self.overrides} | ({} if self.control is None else {CONTROL: self.control})

    @property
    def cost(self) -> float:
        """Compute, as a share of the original run."""
        return self.length * len(self.arms) * self.seeds

    @property
    def tells(self) -> str:
        """What its answers mean, in words."""
        return " ".join(sections(self.doc).get("What it tells", "").split())


@cache
def catalogue() -> Mapping[str, Design]:
    """Every experiment by id."""
    modules = (importlib.import_module(f"{__name__}.{m.name}") for m in pkgutil.iter_modules(__path__))
    measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
    return {d.id: _counted(d, measured.get(d.id, {})) for d in map(_design, modules)}


def _counted(design: Design, measured: Mapping[str, Mapping[str, list[int]]]) -> Design:
    """The design, whose questions know how they were answered in the lab."""
    counts = {asks: {name: (yes, runs) for name, (yes, runs) in of.items()} for asks, of in measured.items()}
    return replace(design, questions=tuple(replace(q, counted=counts.get(q.asks, EMPTY)) for q in design.questions))


def _design(module: ModuleType) -> Design:
    doc = inspect.cleandoc(module.__doc__ or "")
    return Design(
        id=module.__name__.rpartition(".")[2].replace("_", "-"),
        title=doc.partition("\n")[0].rstrip("."),
        doc=doc,
        overrides=module.OVERRIDES,
        questions=module.QUESTIONS,
        length=getattr(module, "LENGTH", 0.1),
        seeds=getattr(module, "SEEDS", 1),
        control=getattr(module, "CONTROL", None),
        bare=getattr(module, "BARE", False),
        then=getattr(module, "THEN", EMPTY),
        applies=getattr(module, "applies", lambda inputs: True),
    )
