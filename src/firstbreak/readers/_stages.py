"""Several trainings in one log: a fine-tuning first, then the RL run, each with steps that begin anew.

Where the step falls back to its beginning and other metrics follow, another stage begins; with the same metrics it is a
restart of the same training, whose later values count. Where it begins no later than the first did, and no other counter goes
on, it is another run; the last one is read.
"""

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from firstbreak.readers import Curve, Recording
from firstbreak.readers._columns import COUNTERS
from firstbreak.values import dataclass, replace
from firstbreak.words import number

BEGINNING = 0.1  #: of the steps so far: a fall into this part is one to the beginning
ALIKE = 0.5  #: of two sets of metrics that are common to both: those of one training
MAX_FALLS = 8  #: more, or more than one in four points, are no restarts: several writers, or rows in another order
_SHOWN = 4


@dataclass(frozen=True)
class _Stage:
    first_row: float
    end_row: float
    first_step: float
    last_step: float
    rows: int
    names: frozenset[str]

    def __str__(self) -> str:
        names = sorted(self.names)
        more = ", ..." if len(names) > _SHOWN else ""
        return f"{number(self.first_step)} to {number(self.last_step)} ({', '.join(names[:_SHOWN])}{more})"


def of_one_training(
    recording: Recording, axis: str, importance: Callable[[frozenset[str]], int]
) -> tuple[Recording, list[str], list[str]]:
    """The curves of the training that counts, notes on the others and on restarts, and what is lost of other runs.

    `axis`: the column of the steps. `importance` of a stage with these names: the highest counts, then the longest.
    """
    steps = recording.curves[axis]
    falls = np.flatnonzero(np.diff(steps.values) < 0)
    if not len(falls) or not are_restarts(len(falls), len(steps.values)):
        return recording, [], []
    stages, notes, begun = _stages(recording, axis, falls, importance)
    runs = f"{axis} begins again: {len(begun) + 1} runs stand below each other, of which the last is read"
    rows = f"{len(steps.values) - max(begun, default=0)} of {len(steps.values)} rows"
    lost = [f"{runs}, {rows}; copy another one into a file of its own"] if begun else []
    if len(stages) == 1:
        return recording, notes, lost
    best = max(stages, key=lambda stage: (importance(stage.names), stage.rows))
    said = ", then ".join(map(str, stages))
    place = stages.index(best) + 1
    notes = [
        f"{len(stages)} trainings after each other, by {axis}: {said}. Number {place} is read; copy another one into a "
        "file of its own to read it"
    ]
    curves = {name: _between(curve, best.first_row, best.end_row) for name, curve in recording.curves.items()}
    return replace(recording, curves={name: curve for name, curve in curves.items() if len(curve.values)}), notes, lost


def are_restarts(falls: int, points: int) -> bool:
    """Whether steps that go back so often are those of a run that was restarted."""
    return falls <= max(min(MAX_FALLS, 1 + points // 4), points // 20)


def _stages(
    recording: Recording, axis: str, falls: np.ndarray, importance: Callable[[frozenset[str]], int]
) -> tuple[list[_Stage], list[str], list[int]]:
    """The stages, notes on restarts, and the first rows of further runs of the same training."""
    steps = recording.curves[axis]
    bounds = [0, *(falls + 1), len(steps.values)]
    stages: list[_Stage] = []
    notes: list[str] = []
    begun: list[int] = []
    for begin, end in pairwise(bounds):
        own = steps.values[begin:end]
        first_row = steps.index[begin] if begin else -np.inf
        end_row = steps.index[end] if end < len(steps.index) else np.inf
        names = frozenset(
            name
            for name, curve in recording.curves.items()
            if name != axis and ((curve.index >= first_row) & (curve.index < end_row)).any()
        )
        stage = _Stage(first_row, end_row, own[0], own.max(), end - begin, names)
        last = stages[-1] if stages else None
        different = last is not None and (importance(last.names) != importance(names) or not _alike(last.names, names))
        if last is None or (different and _begins_anew(last, stage)):
            stages.append(stage)
        else:
            if stage.first_step <= last.first_step and not _counts_on(recording, axis, first_row):
                begun.append(begin)
            else:
                back = f"{axis} goes back from {number(last.last_step)} to {number(stage.first_step)}"
                notes.append(f"{back}: taken for a restart, so that the later values count")
            stages[-1] = replace(
                last, end_row=end_row, last_step=own.max(), rows=last.rows + stage.rows, names=last.names | names
            )
    return stages, notes, begun


def _counts_on(recording: Recording, axis: str, row: float) -> bool:
    """Whether another counter is higher from this row on: steps of the next epoch, say."""
    others = recording.curves.keys() - {axis, "time", "timestamp"}
    counters = [recording.curves[name] for name in others if name.lower() in COUNTERS]
    places = ((curve.values, int(np.searchsorted(curve.index, row))) for curve in counters)
    return any(0 < at < len(values) and values[at] > values[at - 1] for values, at in places)


def _begins_anew(last: _Stage, stage: _Stage) -> bool:
    return stage.first_step <= last.first_step + BEGINNING * (last.last_step - last.first_step)


def _alike(before: frozenset[str], after: frozenset[str]) -> bool:
    return len(before & after) >= ALIKE * max(1, len(before | after))


def _between(curve: Curve, first_row: float, end_row: float) -> Curve:
    keep = (curve.index >= first_row) & (curve.index < end_row)
    return Curve(
        index=curve.index[keep], values=curve.values[keep], times=None if curve.times is None else curve.times[keep]
    )
