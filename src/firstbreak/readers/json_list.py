"""A JSON list of flat records: results that were published as one file, such as the baselines of Dopamine.

The history that a hand-written loop saves as one object is read too: the lists of records in it, else its
columns (`{"step": [1, 2, ...], "reward": [0.1, 0.2, ...]}`, as Keras writes its history), both of them where they count the
same, however deep they lie; numbers and texts beside them are options. Shorter columns are spread over
the steps, or over the rows of the longest: all of them were logged during the same training.

A key named like a step axis (`Iteration`, `step`, ...) is the index. Texts are labels: records with other labels are
other curves, and where the axis starts again under the same label, another seed begins. The name says which:
`Value[Agent=DQN,seed=0]`. Labels that never change and a single seed are left out of the name, and so is a text that
hardly ever returns: a date or a message tells no curves apart. Where the axis runs on from label to label, the records
are those of one run: its curves are whole, and those of each label (a task, a tier) stand beside them. A label that says
train, eval, val or test parts them: `eval/reward`.

A summary of wandb that stands alone (`_step`, `_runtime` and the last value of each metric) is one record.
"""

import re
from collections.abc import Iterator
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Recording, Unreadable, _columns
from firstbreak.readers._columns import COUNTERS, SPLIT_NAMES, Columns, all_by_split, on_split, split_prefix
from firstbreak.readers._json import loads, sound_elements
from firstbreak.readers._literal import number
from firstbreak.readers.opening import read_whole

DESCRIPTION = "a JSON list of records with labels and seeds (Dopamine's baselines), or a history saved by hand"
FILES = ("*.json",)
PRIORITY = -20  #: a file named like a config is one
MAX_BYTES = 1 << 28
MAX_LABELS = 100  #: a text with more values is a date or a message
#: Labels that tell runs apart
_OF_A_RUN = frozenset(
    {"agent", "algo", "algorithm", "method", "model", "run", "run_id", "run_name", "experiment", "seed", "env", "game"}
)
MIN_SPREAD = 5  #: a shorter list beside longer ones is a setting
MIN_COLUMN = 3  #: a shorter list of numbers is a setting (betas, layer sizes)

_AXES = (
    *("step", "iteration", "global_step", "_step", "timesteps", "timestep", "total_timesteps", "env_step", "env_steps"),
    *("frames", "epoch", "episode"),
)

_HISTORY = re.compile(r"hist|log|metrics|curve|training|rewards", re.IGNORECASE)
_SUMMARY = (b'"_step"', b'"_runtime"', b'"_timestamp"')
_LIST = re.compile(rb'":\s*\[\s*(?:\{|-?\d|null|NaN|-?Infinity)')

Record = dict[str, Any]


def sniff(path: Path, head: bytes) -> bool:
    """A .json file that is a list of objects, or an object named like a history with a list of numbers or objects."""
    if path.suffix.lower() != ".json":
        return False
    start = head.lstrip()
    if start.startswith(b"{"):
        if all(mark in head for mark in _SUMMARY):
            return len(list(islice(path.parent.iterdir(), 2))) == 1  # beside its log it repeats the last row
        return bool(_HISTORY.search(path.stem)) and bool(_LIST.search(head))
    return start.startswith(b"[") and start[1:].lstrip().startswith(b"{")


def read(path: Path, resume: Any = None) -> Recording:
    """All records, whole each time."""
    records, options, damage, cut = _records(path, read_whole(path, MAX_BYTES))
    axis = _axis(records)
    columns = Columns(quoted=True)
    records = all_by_split(records)
    labels = _labels(records)
    whole = _runs_on(records, labels, axis)
    for row, (suffix, record) in enumerate(_named(records, labels, axis, whole)):
        index = row if axis is None else record[axis]
        for key, value in record.items():
            if key in labels or key == axis:
                continue
            columns.add_object(key + suffix, index, value)
            if whole and suffix:
                columns.add_object(key, index, value)
    columns.config = {**options, **columns.config}
    kind = axis if axis and axis.startswith("episode") else ""
    return columns.recording("json_list", indexed_by="step" if axis else "row", damage=damage, cut=cut, axis=kind)


def _records(path: Path, data: bytes) -> tuple[list[Record], Record, list[str], bool]:
    """The objects of the list, options, what was lost, and whether nobody knows how much: every whole record is kept."""
    damage: list[str] = []
    options: Record = {}
    cut = False
    try:
        records = loads(data)
        if isinstance(records, dict):
            flat = dict(_columns.leaves(records, "/"))
            if "_step" in flat and "_runtime" in flat:
                return [flat], {}, damage, cut
            named = ((name.partition("/"), value) for name, value in flat.items() if not isinstance(value, list))
            options = {own or top: value for (top, _, own), value in named if not own or top in _columns.CONFIG_NAMES}
            records = _tables(flat)
    except ValueError:
        text = data.decode("utf-8", "replace")
        records, damage, cut = sound_elements(text, text.find("["), "record")
        cut |= not text.lstrip().startswith("[")  # there may be more lists
    records = [record for record in records if isinstance(record, dict)] if isinstance(records, list) else []
    if not records:
        raise Unreadable(path, "holds no whole record", "check that it is a JSON list of objects")
    return records, options, damage, cut


def _tables(history: Record) -> list[Record]:
    """The records of the largest list of records (or of the columns), and of those that hold other numbers over the same axis.

    Those of `eval_history` are on held-out data.
    """
    tables = []
    for name, value in history.items():
        rows = [r for r in value if isinstance(r, dict)] if isinstance(value, list) else []
        prefix = next(filter(None, map(split_prefix, re.split(r"[^A-Za-z]", name))), "")
        tables.append([{on_split(key, prefix): cell for key, cell in row.items()} for row in rows])
    tables.sort(key=lambda rows: sum(map(len, rows)), reverse=True)
    records, *others = [rows for rows in (*tables, _rows(history)) if rows] or [[]]
    axis = _axis(records) if records else None
    for rows in others:
        own = _axis(rows)
        if axis is own is None and len(rows) == len(records) and rows[0].keys().isdisjoint(records[0]):
            records = [{**record, **row} for record, row in zip(records, rows, strict=True)]
        elif own and axis and own.rstrip("s") == axis.rstrip("s") and not set(rows[0]) & set(records[0]) - {axis}:
            records += [{axis if key == own else key: cell for key, cell in row.items()} for row in rows]
            records.sort(key=lambda record: float(record[axis]))
    return records


def _rows(history: Record) -> list[Record]:
    """One record for every place in the columns, which are lists of numbers. A shorter one has numbers in some of them only."""
    columns = {
        name: value
        for name, value in history.items()
        if isinstance(value, list)
        and len(value) >= MIN_COLUMN
        and all(cell is None or isinstance(cell, (int, float)) or _is_quoted(cell) for cell in value)
    }
    if not columns:
        return []
    steps = next((name for name in columns if name.lower() in COUNTERS), None)
    length = max(map(len, columns.values()))
    if steps is not None and all(len(value) == len(columns[steps]) for value in columns.values()):
        steps = None  # a column like the others
    columns = {name: value for name, value in columns.items() if len(value) >= min(length, MIN_SPREAD)}
    records: list[Record] = [{} for _ in range(length)]
    for name, value in columns.items():
        if name == steps:
            places = np.arange(1, length + 1) * len(value) / length - 1
            value = np.interp(places, np.arange(len(value)), np.array(value, dtype=float)).tolist()
        for i, cell in enumerate(value, 1):
            records[i * length // len(value) - 1][name] = cell
    return records


def _is_quoted(cell: Any) -> bool:
    return isinstance(cell, str) and number(cell) is not None


def _axis(records: list[Record]) -> str | None:
    """The key that is the step of every record."""
    keys = {key.lower(): key for key in records[0]}
    for name in _AXES:
        key = keys.get(name) or (keys.get(f"{name}s") if name.startswith("ep") else None)
        if key and all(isinstance(record.get(key), (int, float)) for record in records):
            return key
    return None


def _labels(records: list[Record]) -> list[str]:
    """The keys that tell curves apart: texts with more than one value, but not many, each of several records."""
    most = min(MAX_LABELS, len(records) // 2)
    texts = [key for key, value in records[0].items() if isinstance(value, str) and number(value) is None]
    values = {key: {str(record.get(key)) for record in records} for key in texts}
    return [
        key
        for key in texts
        if 1 < len(values[key]) <= most and not (key.lower() in SPLIT_NAMES and any(map(split_prefix, values[key])))
    ]


def _runs_on(records: list[Record], labels: list[str], axis: str | None) -> bool:
    """Whether the records are those of one run: the axis goes through all of them once, whatever their labels."""
    if not _OF_A_RUN.isdisjoint(label.lower() for label in labels):
        return False
    back = sum(after[axis] < before[axis] for before, after in pairwise(records)) if axis else 0
    return back == 0 or back * 100 <= len(records)


def _named(records: list[Record], labels: list[str], axis: str | None, whole: bool) -> Iterator[tuple[str, Record]]:
    """(what to add to the names, record) for every record; `whole`: they are those of one run."""
    groups = [tuple(str(record.get(label)) for label in labels) for record in records]
    labelled = any(isinstance(v, str) for v in records[0].values())
    seeds = _seeds(records, groups, axis) if axis and labelled and not whole else []
    several = len(set(seeds)) > 1
    for i, record in enumerate(records):
        parts = [f"{label}={value}" for label, value in zip(labels, groups[i], strict=True)]
        parts += [f"seed={seeds[i]}"] if several else []
        yield f"[{','.join(parts)}]" if parts else "", record


def _seeds(records: list[Record], groups: list[tuple[str, ...]], axis: str) -> list[int]:
    """How often the axis has started again under the labels of each record."""
    seed: dict[tuple[str, ...], int] = {}
    last: dict[tuple[str, ...], float] = {}
    seeds = []
    for record, group in zip(records, groups, strict=True):
        if record[axis] < last.get(group, float("-inf")):
            seed[group] = seed.get(group, 0) + 1
        last[group] = record[axis]
        seeds.append(seed.get(group, 0))
    return seeds
