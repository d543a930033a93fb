"""What an experiment has so far (its arms), what is asked of them, and an answer: yes, no, or open."""

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import wraps
from inspect import signature
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from firstbreak.dialects import signals
from firstbreak.engine.families import EVERY, Families
from firstbreak.engine.inputs import DERIVED, Inputs
from firstbreak.model import EMPTY, FirstBreak, Interval, Run, Series
from firstbreak.values import dataclass, field, replace

P = ParamSpec("P")
T = TypeVar("T")

TREATED, CONTROL = "treated", "control"
UNKNOWN = object()  #: a setting that the run does not show (None: the run shows that the setting is off)
MIN_PROBABILITY = 0.02  #: a declared probability counts as at least this, and as at most 1 minus this (convention)


@dataclass(frozen=True)
class Arms:
    """What came of an experiment so far."""

    runs: Mapping[str, Sequence[Run]]  #: arm -> one run for each seed
    folders: Mapping[str, Sequence[Path]]  #: arm -> the trials' folders
    original: Run  #: the run that is to be explained
    ended: bool = True  #: whether all trials have ended
    overrides: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: EMPTY)  #: arm -> options of its trainer
    first_break: Callable[[Run], FirstBreak | None] | None = None  #: the first break that a diagnosis of a run names
    since: float = -math.inf  #: the step of the break: before it, arms that start from a checkpoint cannot differ
    untouched: Callable[[Run], Run] | None = None  #: a trial without the curves that the experiment's own change enters

    def curve(self, name: str, arm: str = TREATED) -> Series | None:
        """A signal (`kl_ref`) or derived input (`score`) of an arm: the mean over its seeds; None where it was not recorded."""
        runs = self.judged(arm)
        curves = [c.finite for run in runs if (c := curve_of(run, name)) is not None and len(c.finite)]
        if not curves:
            return None
        steps = min(curves, key=len).steps
        values = np.mean([np.interp(steps, c.steps, c.values) for c in curves], axis=0)
        return replace(curves[0], steps=steps, values=values)

    def judged(self, arm: str) -> list[Run]:
        """The trials of an arm, with the curves that may judge it."""
        return [run if self.untouched is None else self.untouched(run) for run in self.runs.get(arm, ())]

    def watched(self, name: str, arm: str = TREATED) -> np.ndarray:
        """What the hooks measured in each batch, shape (n,); empty where they measured nothing."""
        return np.array([row[name] for row in self.rows("watch.jsonl", arm) if name in row], dtype=float)

    def rows(self, file: str, arm: str = TREATED) -> list[dict[str, Any]]:
        """The rows that the hooks wrote into a file of the arm's trials."""
        return [json.loads(line) for folder in self.folders.get(arm, ()) for line in _lines(folder / file)]

    def setting(self, name: str) -> Any:
        """A setting of the treated arm: the last value that the hooks recorded, else the override, else the original run's;
        `UNKNOWN` where there is none of these."""
        seen = [row[name] for row in self.rows("settings.jsonl") if name in row]
        if seen:
            return seen[-1]
        override = self.overrides.get(TREATED, EMPTY).get(name)
        value = self.original.config.number(name) if override is None else override
        return UNKNOWN if value is None else value


def _lines(path: Path) -> list[str]:
    """Whole lines only: the last one may be incomplete."""
    lines = path.read_text().splitlines(keepends=True) if path.exists() else []
    return [line for line in lines if line.endswith("\n")]


def curve_of(run: Run, name: str) -> Series | None:
    """A signal (`kl_ref`) or derived input (`score`) of a run."""
    found = Inputs(run).ask(name)
    return found if isinstance(found, Series) else None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """Yes, no, or open (None), with the reason."""

    yes: bool | None
    reason: str
    interval: Interval | None = None
    n: int = 0  #: points that were tested
    opposite: bool = False  #: of a no: the arms show the opposite
    needed: int = 0  #: points with which the question would have an answer, where the trial was too short to tell


Asked = Callable[[Arms], Answer]


@dataclass(frozen=True)
class Named:
    """A question about one curve."""

    name: str  #: of the curve
    asked: Asked

    def __call__(self, arms: Arms) -> Answer:
        return self.asked(arms)


def unnamed(_: object, asked: Asked) -> Asked:
    """A question about more than one curve, or none."""
    return asked


def about(make: Callable[[Any, Asked], T]) -> Callable[[Callable[Concatenate[Arms, P], Answer]], Callable[P, T]]:
    """A question that gets all but the arms first, `question(...)(arms)`: `make(first parameter, what is asked of the arms)`."""

    def question(answer: Callable[Concatenate[Arms, P], Answer]) -> Callable[P, T]:
        @wraps(answer)
        def put(*given: P.args, **named: P.kwargs) -> T:
            signature(answer).bind(None, *given, **named)  # what a row gives wrongly is told when it is read
            return make(given[0] if given else None, lambda arms: answer(arms, *given, **named))

        return put

    return question


@dataclass(frozen=True, kw_only=True)
class Question:
    """One question, and the probability of "yes" under each cause."""

    asks: str
    answer: Asked
    needs: str = ""  #: signal or input, "hooks" or "weights": without it the question is open; else the answer's curve
    #: signals of the original run that the answer reads again: the ranking has used them already
    again: tuple[str, ...] = ()
    #: settings with which the causes come about as well: where the run's own value is unusual, a "no" says nothing against them
    instead: tuple[str, ...] = ()
    families: Families = EVERY  #: for which runs it makes sense, if fewer than the experiment
    yes: Mapping[str, float] = field(default_factory=lambda: EMPTY)  #: cause, or "healthy" -> P(yes)
    otherwise: float = 0.5  #: P(yes) for every other candidate
    #: candidate -> (answers "yes", runs) in the lab
    counted: Mapping[str, tuple[int, int]] = field(default_factory=lambda: EMPTY)

    @property
    def needed(self) -> str:
        """What it needs: as it says, else the curve that it is about; empty where it needs nothing."""
        return self.needs or getattr(self.answer, "name", "")

    @property
    def measure(self) -> str:
        """The signal that answers it, or the derived input in words; empty where hooks measure it."""
        signal = signals.BY_PARAMETER.get(self.needed)
        return signal.name if signal else self.needed.replace("_", " ") if self.needed in DERIVED else ""

    def weights(self, cause: str) -> dict[str, float]:
        """Answer -> weight for a cause against its rivals, in nats, from the declared probabilities."""
        under, others = (
            min(max(p, MIN_PROBABILITY), 1 - MIN_PROBABILITY)
            for p in (self.yes.get(cause, self.otherwise), self.otherwise)
        )
        return {"yes": math.log(under / others), "no": math.log((1 - under) / (1 - others))}


def any_of(answers: Iterable[Answer]) -> Answer:
    """Yes if any is, else no if any is, else open."""
    return min(answers, key=lambda a: (a.yes is not True, a.yes is None))


def unanswered(reason: str) -> Answer:
    return Answer(yes=None, reason=reason)
