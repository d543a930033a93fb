"""A run of the lab as a stranger would bring it: a public trainer's default curves at some length and cadence, nothing else.

The curves are written as that trainer's log, with its own names and units, and read again like any file. So the trainer,
the algorithm and the axis are what a reader can tell from the log.
"""

from __future__ import annotations

import json
import tempfile
import zlib
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.running import Label

from benchmarks.abroad.default_curves import SHOWN_AS, Names, PublicTrainer
from firstbreak import dialects
from firstbreak.model import Run, Series
from firstbreak.readers.read import read

CADENCES = (1, 2, 5)  #: a point is logged at every one of so many steps
AFTER = 0.2  #: share of the run: a stranger brings a run at least so long after the onset, or all of it
SHORTEST = 0.3  #: share of the run
EVALUATED = 0.5  #: share of the runs with an evaluation
SCORES = frozenset({"reward.mean", "reward.rollout.mean", "reward.episode"})  #: nobody comes without a score
LEFT = 5  #: points: a curve is not thinned to fewer


@dataclass(frozen=True)
class Draw:
    """How one run is shown."""

    trainer: PublicTrainer
    evaluated: bool  #: whether an evaluation was turned on
    end: float = 1.0  #: share of the run
    cadence: int = 1
    lost: frozenset[str] = frozenset()  #: default curves that this stranger does not have

    @property
    def names(self) -> Names:
        """What can be logged."""
        every = {**self.trainer.curves, **(self.trainer.evaluation if self.evaluated else {})}
        return {name: signals for name, signals in every.items() if name not in self.lost}

    @property
    def whole(self) -> Draw:
        """The same trainer's log, whole."""
        return replace(self, end=1.0, cadence=1, lost=frozenset())


def drawn(archive: str, label: Label, number: int) -> Draw:
    """The same draw for the same run and number."""
    rng = np.random.default_rng([zlib.crc32(archive.encode()), number])
    trainers = SHOWN_AS[label.base]
    trainer = trainers[rng.integers(len(trainers))]
    shortest = min(1.0, max(SHORTEST, (label.onset or 0) / label.steps + AFTER))
    return Draw(
        trainer=trainer,
        evaluated=bool(rng.random() < EVALUATED),
        end=float(rng.uniform(shortest, 1.0)),
        cadence=int(rng.choice(CADENCES)),
        lost=frozenset(
            name
            for name in rng.choice(sorted(trainer.curves), size=rng.integers(1, 3), replace=False).tolist()
            if SCORES.isdisjoint(trainer.curves[name])
        ),
    )


Curve = tuple[np.ndarray, np.ndarray]  #: steps and values, shape (n,) each


def shown(run: Run, draw: Draw, steps: float) -> dict[str, Curve]:
    """The curves of this draw by the trainer's own names, in its own units. `steps` is the length of the run."""
    dialect = dialects.dialects()[draw.trainer.dialect]
    penalty = run.series.get("reward.kl_penalty")
    hidden = draw.trainer.penalised if penalty is not None and not penalty.values.any() else frozenset()
    curves = {}
    for name, signals in draw.names.items():
        series = _held(run, name, signals)
        if series is None or name in hidden:
            continue
        series = series.between(-np.inf, draw.end * steps)
        every = draw.cadence if len(series) >= LEFT * draw.cadence and name not in draw.trainer.evaluation else 1
        meaning = dialects.translate(name, dialect)
        scale = meaning.scale if meaning is not None else 1.0
        if len(series):
            curves[name] = series.steps[every - 1 :: every], series.values[every - 1 :: every] / scale
    return curves


def _held(run: Run, name: str, signals: tuple[str, ...]) -> Series | None:
    """The curve that was logged under this name, else the first of these signals that the run has."""
    own = next((s for s in (*run.series.values(), *run.duplicates) if s.raw == name), None)
    return own or next((s for signal in signals if (s := _sum(run, signal.split("+"))) is not None), None)


def _sum(run: Run, signals: list[str]) -> Series | None:
    parts = [run.series[signal] for signal in signals if signal in run.series]
    if len(parts) < len(signals):
        return None
    steps = parts[0].steps
    return replace(parts[0], values=sum(np.interp(steps, s.steps, s.values) for s in parts)) if parts[1:] else parts[0]


def brought(run: Run, draw: Draw, steps: float) -> Run:
    """The run that the stranger brings: no configuration, no samples, no curve but these."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "metrics.jsonl"
        log.write_text("".join(json.dumps(row) + "\n" for row in _rows(shown(run, draw, steps), draw.trainer.axis)))
        return read(log)


def _rows(curves: dict[str, Curve], axis: str) -> list[dict[str, Any]]:
    """One row a step. Points of one curve that share a step have rows of their own."""
    points = [
        (step, turn, name, value)
        for name, (steps, values) in curves.items()
        for step, group in groupby(zip(steps.tolist(), values.tolist(), strict=True), key=lambda point: point[0])
        for turn, (_, value) in enumerate(group)
    ]
    rows: dict[tuple[float, int], dict[str, Any]] = {}
    for step, turn, name, value in sorted(points, key=lambda point: point[:2]):
        rows.setdefault((step, turn), {axis: step})[name] = value
    return list(rows.values())
