"""The experiments that separate causes (knowledge/experiments/catalogue.toml), with what the lab counted of their answers."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from firstbreak import plugins
from firstbreak.engine import index
from firstbreak.engine.families import EVERY, SAMPLED, UNKNOWN, Families, Family, Method, Policy, only
from firstbreak.engine.registry import sections, table_of
from firstbreak.model import EMPTY, Experiment, RankedCause, WeightKind
from firstbreak.values import dataclass, field, replace

if TYPE_CHECKING:
    from firstbreak.engine.questions import Question

MEASURED = index.HOME / "experiments" / "measured.json"

_RATIO = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)
_RETURNS = only(Method.ACTOR_CRITIC, Method.VALUE_BASED, UNKNOWN)
#: option -> the families that have it, where not all have it. Soft actor-critic has an entropy temperature and no bonus.
OF_OPTION: Mapping[str, Families] = {
    **dict.fromkeys(("clip_range", "clip_range_high", "target_kl", "epochs_per_batch", "minibatches"), _RATIO),
    "entropy_coef": _RATIO,
    **dict.fromkeys(("gamma", "value_learning_rate", "value_coef"), _RETURNS),
    **dict.fromkeys(("kl_coef", "temperature", "top_p", "min_p", "max_new_tokens"), only(Policy.TEXT, *SAMPLED)),
    **dict.fromkeys(("group_size", "dynamic_sampling"), only(Policy.TEXT, Method.GROUP_RELATIVE, UNKNOWN)),
}
_CLIPS = frozenset({"clip_range", "clip_range_high", "clip_range_value", "epochs_per_batch", "minibatches"})
#: algorithm -> the options of its family that it has not: one update for each batch, or no clipping
LACKS: Mapping[str, frozenset[str]] = {
    "trpo": _CLIPS - {"minibatches"},
    **dict.fromkeys(("a2c", "a3c", "vpg", "reinforce"), _CLIPS | {"target_kl"}),
    **dict.fromkeys(("ddpg", "td3"), frozenset({"target_update_interval"})),
}


@dataclass(frozen=True, kw_only=True)
class Design:
    """One experiment of the catalogue."""

    id: str
    title: str
    page: Callable[[], str]  #: its texts, read when they are shown
    overrides: Mapping[str, Any]
    questions: tuple[Question, ...]
    length: float = 0.1  #: share of the original run's steps
    seeds: int = 1  #: of each arm, at least
    control: Mapping[str, Any] | None = None
    bare: bool = False
    then: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: EMPTY)
    do: Mapping[str, str] = field(
        default_factory=lambda: EMPTY
    )  #: "yes" or "no" to the first question -> what to do first
    code: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    families: Families = EVERY

    @property
    def doc(self) -> str:
        """Its page."""
        return self.page()

    @property
    def trains(self) -> bool:
        """Whether its policy is another than that of the run: not where it only watches, or hardly learns."""
        return self.overrides.get("learning_rate") not in (0.0, "/10000") and set(self.overrides) != {"watch"}

    @property
    def arms(self) -> dict[str, Mapping[str, Any]]:
        """Arm -> its overrides."""
        from firstbreak.engine.questions import CONTROL, TREATED

        return {TREATED: self.overrides} | ({} if self.control is None else {CONTROL: self.control})

    @property
    def cost(self) -> float:
        """Compute, as a share of the original run."""
        return self.length * len(self.arms) * self.seeds

    @property
    def tells(self) -> str:
        """What its answers mean, in words."""
        return " ".join(sections(self.doc).get("What it tells", "").split())


def smallest(names: Sequence[str], cause: str, family: Family) -> Experiment | None:
    """The first of these experiments that holds for the run's family, with the answer that speaks most for the cause."""
    design = next((d for name in names if (d := catalogue()[name]).families.include(family)), None)
    if design is None:
        return None
    asked = (q for q in design.questions if q.families.include(family))
    question, answer, weight = max(
        ((q, answer, weight) for q in asked for answer, weight in q.weights(cause).items()), key=lambda one: one[2]
    )
    return Experiment(
        id=design.id,
        text=design.title,
        overrides={option: value for option, value in design.overrides.items() if not option.endswith("?")},
        length=design.length,
        measure=question.measure,
        if_cause=f"{question.asks} {answer}",
        weight=weight,
    )


def told(ranked: Sequence[RankedCause]) -> str:
    """What the answer of an experiment says to do first; empty where none has said anything of that."""
    answers = {(w.finding, w.text) for cause in ranked for w in cause.evidence if w.kind is WeightKind.ANSWER}
    for name, text in sorted(answers):
        design = catalogue().get(name.removeprefix("experiment:"))
        for word, what in (EMPTY if design is None else design.do).items():
            if design is not None and text.startswith(f"{design.questions[0].asks} {word}"):
                return what
    return ""


class Catalogue(Mapping[str, Design]):
    """Experiment by id, in alphabetical order. A row, or a plug-in's module, is read when its experiment is asked for."""

    def __init__(self) -> None:
        self._rows = index.table("experiments", index.CATALOGUE)[1] or table_of("experiments").rows()
        others = plugins.elsewhere("firstbreak.experiments")
        files = ((plugins.identity(module.rpartition(".")[2]), module) for module in others)
        self._places: dict[str, str] = {}  #: id -> the module or the table that holds it
        for name, place in sorted([*dict.fromkeys(self._rows, f"{index.CATALOGUE}.toml").items(), *files]):
            if name in self._places:
                raise plugins.BadPlugin(f"{place}: the name {name!r} is taken by {self._places[name]}")
            self._places[name] = place
        self._measured = json.loads(MEASURED.read_text()) if MEASURED.exists() else {}
        self._designs: dict[str, Design] = {}

    def __getitem__(self, name: str) -> Design:
        if name not in self._designs:
            row, place = self._rows.get(name), self._places[name]
            design = table_of("experiments").design(name, row) if row else _design(importlib.import_module(place))
            self._designs[name] = _counted(design, self._measured.get(name, {}))
        return self._designs[name]

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


@cache
def catalogue() -> Mapping[str, Design]:
    """Every experiment by id."""
    return Catalogue()


def _counted(design: Design, measured: Mapping[str, Mapping[str, list[int]]]) -> Design:
    """The design, whose questions know how they were answered in the lab."""
    counts = {asks: {name: (yes, runs) for name, (yes, runs) in of.items()} for asks, of in measured.items()}
    return replace(design, questions=tuple(replace(q, counted=counts.get(q.asks, EMPTY)) for q in design.questions))


def _design(module: ModuleType) -> Design:
    name, title, doc = plugins.described(module)
    named = ("length", "seeds", "control", "bare", "then", "do", "code", "families")
    more = {key: getattr(module, key.upper()) for key in named if hasattr(module, key.upper())}
    return Design(
        id=name, title=title, page=lambda: doc, overrides=module.OVERRIDES, questions=module.QUESTIONS, **more
    )
