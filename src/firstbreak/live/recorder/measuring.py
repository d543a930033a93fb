"""Measuring: identities whose inputs are given, in a share of the run's time, with errors that never reach training."""

import enum
import inspect
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak import plugins
from firstbreak.live.recorder.journal import NAME, ProofFiles

LOG = logging.getLogger("firstbreak.recorder")
SHARE = 0.02  #: of the run's time
ALWAYS = 2  #: first updates, which are measured whatever they cost
EARLY, START = 0.25, 2.0  #: of the time that follows, and at most so many seconds: a short run is measured as well


class Price(enum.Enum):
    """What a measurement costs."""

    GLANCE = "glance"  #: a few elements of the weights, in every step
    LOOK = "look"  #: arithmetic on what is there
    WORK = "work"  #: passes through the model, calls of the reward functions


SHARES = {Price.GLANCE: 0.15, Price.LOOK: 0.5, Price.WORK: 0.35}  #: of the time that all measurements may take

Reading = float | tuple[float, str]
Measure = Callable[..., Mapping[str, Reading]]


class Measurements:
    """Measures identities, and writes the numbers into `folder` in a share of the run's time.

    `share` limits the time of all measurements but the first ones, as a share of the run's, and `START` seconds beside; with 1,
    nothing is left out. No random number is used. An error in here never reaches training: it is logged once as a warning.
    """

    def __init__(self, folder: str | Path | None = ".", share: float = SHARE, name: str = NAME) -> None:
        self.files = ProofFiles(None if folder is None else Path(folder), name)
        self.share = share
        self.step = 0  #: of the last batch
        self.numbers: dict[str, float] = {}  #: of the current step, not written yet
        self.clock = time.perf_counter
        self._began: float | None = None  #: when the first steps were over
        self._spent = dict.fromkeys(Price, 0.0)  #: seconds after the first steps
        self._granted: dict[Price, int] = {}  #: the last step that might cost so much
        self._taken = dict.fromkeys(Price, 0.0)  #: seconds that the measurements took in that step
        self.start = 0.0  #: seconds in the first steps
        self._steps: set[int] = set()
        self._failed: set[str] = set()
        self._measuring = False  #: the time in a measurement within another one counts once

    def due(self, step: int, cost: Price = Price.LOOK) -> bool:
        """Whether this step may cost so much: it is one of the first, or time is left for what the last one took."""
        if self._granted.get(cost) == step:
            return True
        elapsed = 0.0 if self._began is None else self.clock() - self._began  # since the first steps were over
        early = min(EARLY * elapsed, START) if self.share > 0 else 0.0
        left = SHARES[cost] * (self.share * elapsed + early) - self._spent[cost]
        granted = self._first(step) or self.share >= 1 or self._taken[cost] <= left
        if granted:
            self._granted[cost], self._taken[cost] = step, 0.0
        return granted

    def _first(self, step: int) -> bool:
        return step in self._steps or len(self._steps) < ALWAYS

    @property
    def spent(self) -> float:
        """Seconds that were spent after the first steps."""
        return sum(self._spent.values())

    def counted(self, step: int) -> None:
        """This step was measured."""
        if len(self._steps) < ALWAYS:
            self._steps.add(step)
            self._began = self.clock() if len(self._steps) == ALWAYS else None

    def measure(self, step: int, given: Mapping[str, Any]) -> dict[str, float]:
        """The numbers of every identity whose inputs are given; places are written down."""
        arrays, raised = arrays_of(given), list[str]()
        if "score" in arrays:
            arrays["score"] = patient(arrays["score"], arrays.get("prompts"), len(arrays.get("rewards", ())), raised)
        found: dict[str, float] = {}
        for name, (needs, uses, measure) in identities().items():
            if not needs <= arrays.keys():
                continue
            wanted = {key: arrays[key] for key in (needs | uses) & arrays.keys()}
            with self.guarded(name):
                for signal, reading in measure(**wanted).items():
                    value, place = reading if isinstance(reading, tuple) else (reading, "")
                    found[signal] = max(float(value), found.get(signal, float(value)))  # of several that tell one thing
                    if not math.isfinite(value):  # what goes in is not finite, if nothing else has told
                        found["nonfinite"] = max(found.get("nonfinite", 0.0), 1.0)
                        place = f"{signal} cannot be worked out: a number of this update is not finite"
                        self.files.locate(step, "nonfinite", place, wanted)
                    elif place:
                        self.files.locate(step, signal, place, wanted)
        if "score" in arrays:
            found["reward_raised"] = float(bool(raised))
            for place in raised[:1]:
                self.files.locate(step, "reward_raised", place, {})
        return found

    @contextmanager
    def measuring(self, cost: Price, step: int) -> Iterator[None]:
        """Time in here is the recorder's; errors in here are logged and go no further."""
        if self._measuring:  # the time in a measurement within another one counts once
            with self.guarded("recorder"):
                yield
            return
        began, self._measuring = self.clock(), True
        try:
            with self.guarded("recorder"):
                yield
        finally:
            self._measuring = False
            took = self.clock() - began
            if self._granted.get(cost) == step:
                self._taken[cost] += took
            if self._first(step):
                self.start += took
            else:
                self._spent[cost] += took

    @contextmanager
    def guarded(self, what: str) -> Iterator[None]:
        """Errors in here are logged once and go no further."""
        try:
            yield
        except Exception as error:
            if what not in self._failed:
                self._failed.add(what)
                LOG.warning("%s was not measured: %s: %s", what, type(error).__name__, error)


def patient(score: Any, prompts: Sequence[str] | None, n: int, raised: list[str]) -> Any:
    """`score`, asked again for whole groups, and for all n rows, where it raises. What it raises then is put into `raised`."""

    def scored(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
        texts = prompts or [""] * n
        groups = {texts[i] for i in rows}
        for whole in (list(rows), [i for i in range(n) if texts[i] in groups], list(range(n))):
            try:
                return np.asarray(score(whole, other))[[whole.index(i) for i in rows]]
            except Exception as error:
                said = f"{type(error).__name__}: {error}, in a call with {len(whole)} rows"
        raised.append(said)
        raise RuntimeError(said)

    return scored


@cache
def identities() -> Mapping[str, tuple[frozenset[str], frozenset[str], Measure]]:
    """Name -> (inputs that are needed, inputs that are used, function), one for each file of the folder."""
    found = {}
    modules = plugins.modules("firstbreak.live.recorder.identities", "measure", "firstbreak.identities")
    for name, module in modules.items():
        parameters = inspect.signature(module.measure).parameters.values()
        needs = frozenset(p.name for p in parameters if p.default is p.empty)
        found[name] = needs, frozenset(p.name for p in parameters) - needs, module.measure
    return found


def arrays_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The inputs that are given: tensors and lists of numbers as float64 arrays, the rest as it is."""
    return {name: value for name, value in ((n, _array(v)) for n, v in given.items()) if value is not None}


def _array(value: Any) -> Any:
    """Tensors and lists of numbers as float64 arrays; texts, flags and functions as they are."""
    if value is None or isinstance(value, str | bool | int | float | Mapping) or callable(value):
        return value
    if hasattr(value, "detach"):
        value = value.detach().float().cpu().numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        value = value.tolist()
    if isinstance(value, list | tuple):
        if value and not isinstance(value[0], int | float | list | type(None)):
            return list(value)
        value = np.array(value, dtype=float)
    return np.asarray(value, dtype=float)
