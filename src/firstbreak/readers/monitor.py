"""`*.monitor.csv` of the Monitor wrapper: a line of JSON behind "#", then one row per episode.

Columns: `r` the return, `l` the length in steps, `t` the seconds since the start, then whatever the user asked for.
The index is the number of environment steps at the end of the episode: the running sum of `l`, over the episodes of
all environments in order of time once their files are merged. A file that several runs appended to has further "#"
lines, or a `t` that goes back; each begins a segment. Where `t` goes back all the time, the rows are put in its order. A row
that repeats the one before is the same episode.
Source: stable_baselines3/common/monitor.py, results_plotter.py (ts2xy)
"""

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.model import Event, Happened
from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._columns import Columns, as_float
from firstbreak.readers._json import loads
from firstbreak.readers._literal import number
from firstbreak.readers._stages import are_restarts
from firstbreak.readers._tail import Lines, still_holds
from firstbreak.readers.opening import open_file
from firstbreak.values import dataclass, replace

DESCRIPTION = "episode returns of the Monitor wrapper (Stable-Baselines3, Gym)"
HEADS = (b"#{", b"# {")
PRIORITY = 10
_AXIS = "timesteps"


def sniff(path: Path, head: bytes) -> bool:
    """`#{json}`, or `# {json}` as Baselines wrote it, then a header that has the columns r, l and t."""
    first, _, rest = head.partition(b"\n")
    header = set(rest.partition(b"\n")[0].strip().split(b","))
    return first.startswith((b"#{", b"# {")) and {b"r", b"l", b"t"} <= header


@dataclass(frozen=True)
class _State:
    """What the rows read so far leave behind."""

    names: tuple[str, ...] = ()
    facts: tuple[tuple[str, Any], ...] = ()  #: of the latest "#" line
    seconds: float = -np.inf  #: t of the last row
    steps: float = 0.0
    segment: float = 0.0
    line: int = 0
    row: str = ""  #: the last one


def read(path: Path, resume: Any = None) -> Recording:
    """One point per episode; with `resume`, the episodes finished since."""
    cursor = still_holds(path, resume)
    with open_file(path) as file:
        lines = Lines(file, cursor.offset if cursor else 0)
        episodes = _Episodes(cursor.context if cursor else _State())
        for block in lines.blocks():
            for line in block.decode("utf-8", "replace").split("\n")[:-1]:
                episodes.add(line)
        if not episodes.names:
            raise Unreadable(path, "has no header yet", "wait until the first episode has ended")
        recording = episodes.recording()
        recording.resume = lines.cursor(len(episodes.steps), episodes.state())
    if lines.unfinished:
        recording.notes.append("the last line has no end yet, left for the next read")
    recording.replaces = resume is not None and cursor is None
    return recording


def merge(recordings: Sequence[Recording]) -> Recording:
    """The episodes of all environments of a run in order of time; their lengths add up to the run's steps."""
    names = dict.fromkeys(name for recording in recordings for name in recording.curves)
    lengths = [recording.curves["l"] for recording in recordings if "l" in recording.curves]
    ended = np.concatenate([_times(curve) for curve in lengths]) if lengths else np.empty(0)
    order = np.argsort(ended, kind="stable")
    steps = np.cumsum(np.concatenate([curve.values for curve in lengths])[order]) if lengths else np.empty(0)
    merged = Recording(format="monitor", indexed_by="step", axis=_AXIS, order=min(r.order for r in recordings))
    for name in names:
        parts = [recording.curves.get(name) for recording in recordings]
        if all(part is not None and part.times is not None for part in parts):
            values = np.concatenate([part.values for part in parts if part])
            merged.curves[name] = Curve(index=steps, values=values[order], times=ended[order])
    for recording in recordings:
        merged.config.update(recording.config)
        merged.damage.extend(recording.damage)
        merged.notes.extend(recording.notes)
    starts = sorted(
        (float(np.min(_times(r.curves["l"]))), float(np.max(_times(r.curves["l"]))))
        for r in recordings
        if "l" in r.curves
    )
    for (_, end), (begin, _) in pairwise(starts):
        if begin > end and len(steps):  # one after the other: no environments side by side
            step = float(steps[np.searchsorted(np.sort(ended), begin) - 1])
            merged.events.append((step, Event(kind=Happened.RESUMED, text="a further monitor file begins")))
    several = f"episodes of {len(recordings)} environments" if len(recordings) > 1 else "episodes"
    merged.notes.append(f"{several} in order of time")
    return merged


def tested(tests: Sequence[Recording], training: Recording | None) -> Recording:
    """The episodes of evaluations, which a Monitor of their own wrote, on the steps that training had reached by the clock.

    Without a Monitor of training they keep their own steps.
    """
    merged = merge(tests)
    clock = None if training is None else training.curves.get("l")
    renamed: dict[str, Curve] = {}
    for name, of in (("r", "eval/mean_reward"), ("l", "eval/mean_ep_length")):
        if (curve := merged.curves.get(name)) is not None:
            place = slice(None) if clock is None else np.searchsorted(_times(clock), _times(curve))
            renamed[of] = replace(curve, index=(curve.index if clock is None else np.r_[0.0, clock.index])[place])
    merged.curves = renamed
    return merged


def _times(curve: Curve) -> np.ndarray:
    return curve.times if curve.times is not None else np.full(len(curve.values), np.nan)


class _Episodes:
    """Lines in, columns out."""

    def __init__(self, state: _State) -> None:
        self.names, self.facts = list(state.names), dict(state.facts)
        self.seconds, self.total, self.segment, self.line = state.seconds, state.steps, state.segment, state.line
        self.row = state.row
        self.columns = Columns()
        self.steps: list[float] = []
        self.segments: list[float] = []
        self.times: list[float] = []
        self.broken: list[int] = []

    def add(self, line: str) -> None:
        self.line += 1
        if line.startswith("#"):
            self._begin(line)
        elif not self.names or line.split(",") == self.names:
            self.names = line.split(",")
        elif line and line != self.row:
            self.row = line
            self._add_row(line.split(","))

    def _begin(self, line: str) -> None:
        try:
            facts = loads(line[1:])
        except ValueError:
            facts = None
        self.facts = facts if isinstance(facts, dict) else {}
        if self.line > 1:
            self.segment += 1
        self.seconds = -np.inf

    def _add_row(self, cells: list[str]) -> None:
        values = [number(cell) for cell in cells]
        row = {name: value for name, value in zip(self.names, values, strict=False) if value is not None}
        if len(cells) != len(self.names) or not {"r", "l", "t"} <= row.keys() or not np.isfinite(row["l"]):
            self.broken.append(self.line)
            return
        if row["t"] < self.seconds:  # appended without a "#" line: Monitor(override_existing=False)
            self.segment += 1
            self.facts.pop("t_start", None)
        self.seconds = row["t"]
        self.total += row["l"]
        for name, value in row.items():
            self.columns.add(name, self.total, value)
        self.times.append(self._start() + row["t"])
        self.steps.append(self.total)
        self.segments.append(self.segment)

    def _start(self) -> float:
        """When the environment was made, in unix seconds; 0 where the file does not say."""
        start = self.facts.get("t_start")
        return as_float(start) if isinstance(start, (int, float)) else 0.0

    def state(self) -> _State:
        facts = tuple(self.facts.items())
        return _State(tuple(self.names), facts, self.seconds, self.total, self.segment, self.line, self.row)

    def recording(self) -> Recording:
        curves = self.columns.curves()
        for curve in curves.values():
            if len(curve.values) == len(self.times):
                curve.times = np.array(self.times)
        recording = Recording(
            format="monitor",
            curves=curves,
            indexed_by="step",
            axis=_AXIS,
            segment=np.array(self.segments) if self.segment else None,
            config={name: value for name, value in self.facts.items() if name != "t_start"},
            order=self._start(),
        )
        if self.broken:
            count = len(self.broken)
            recording.damage.append(
                f"line {self.broken[0]}: {count} broken rows left out; check whether two runs share the file"
            )
        back = int(np.sum(np.diff(self.times) < 0))
        return recording if are_restarts(back, len(self.times)) else merge([recording])
