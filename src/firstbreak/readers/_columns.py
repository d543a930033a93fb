"""Rows of named cells, gathered into curves and constants while a file streams by."""

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.patterns import pattern
from firstbreak.readers import Curve, Recording
from firstbreak.readers.budget import NAME, POINT, spend
from firstbreak.readers.opening import plain

#: Objects under these names are hyperparameters that the writer repeats in every row, not metrics.
CONFIG_NAMES = frozenset({"config", "hyperparameters", "hyperparams", "hparams", "params", "args"})
_PROGRESS = pattern(r"(\w+)/(?:max|total)_\w+")  # ms-swift: "global_step/max_steps": "12/547"
_SPELLED_OUT = frozenset({"NaN", "nan", "Infinity", "-Infinity", "inf", "-inf"})  # writers whose JSON has no NaN
_TIMED = pattern(r"eval_(.+)_runtime")
_QUOTED = pattern(r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,3})?\s*")
_GROUP = pattern(r"(?:.*[/_ ])?(?:reward|return|score)s?", re.IGNORECASE)
_REWARD = pattern(r"rew|return|score|success|acc|solve|correct|pass", re.IGNORECASE)
_MAX_GROUP = 4096
_MAX_TABLE = 1 << 23  # cells; records that hardly share a name are added one by one, or they would fill the memory
_CONTENT_IN_NAME = pattern(
    r"(?:(?:eval|test|train)[a-z]*_)?(?:rewards?|returns?|scores?)(?=(?:_(?:log|history|curve|list|data))?$)",
    re.IGNORECASE,
)
#: A column of this name says of each row whether it was made on the data that is trained on
SPLIT_NAMES = frozenset({"split", "phase", "mode", "set", "subset", "partition", "stage", "kind", "type", "data_split"})
_EVAL_TIME = "eval_time"  #: whoever times an evaluation in a row without losses has nothing else in it
_HELD_OUT = frozenset({"eval", "evaluation", "val", "valid", "validation", "test", "testing", "heldout"})
COUNTERS = frozenset(
    {"step", "steps", "_step", "global_step", "global_steps", "total_steps", "training_step", "train_step"}
    | {"iteration", "iterations", "iter", "training_iteration", "epoch", "epochs", "episode", "episodes"}
    | {"timestep", "timesteps", "total_timesteps", "env_step", "env_steps", "frame", "frames", "update", "updates"}
    | {"time", "timestamp", "version"}
)
_CUMULATIVE = pattern(r"\s*\((?:cum\w*\.?|total|so far)\)$", re.IGNORECASE)
CLOCK = r"(?:(\d{1,4}) days?, )?(\d{1,4}):(\d\d):(\d\d(?:\.\d{1,9})?)"
_COUNTED = 1024  #: points that are counted together
_VARIES = object()
_NONE = type(None)
_NUMBERS = frozenset({float, int, bool, _NONE})


def name_from_file(path: Path) -> str | None:
    """What a column without a name holds, where its file's name says so: `reinforce_rewards.npy` holds `rewards`."""
    found = _CONTENT_IN_NAME.search(plain(path).stem)
    return found[0] if found else None


def counter(name: str) -> str:
    """A counter without the words that it counts on: `step (cum)` is `step`. Other names stay as they are."""
    bare = _CUMULATIVE.sub("", name)
    return bare if bare.lower() in COUNTERS else name


def exported_tag(path: Path) -> str:
    """The metric in a file that TensorBoard's page saved: `run-<run>-tag-<tag>`, with "/" written as "_"."""
    stem = plain(path).stem
    return stem.partition("-tag-")[2] or stem


def split_prefix(text: Any) -> str:
    """What a cell of a column of splits puts before the names of its row: `eval/` for "eval", nothing for "train"."""
    word = text.strip().lower() if isinstance(text, str) else ""
    return f"{word}/" if word in _HELD_OUT else ""


def on_split(name: str, prefix: str) -> str:
    """A metric's name in a row of held-out data. What only counts rows keeps its name, and so does one that says it already."""
    words = name.lower()
    return name if not prefix or words in COUNTERS or words.startswith(tuple(_HELD_OUT)) else prefix + name


def all_by_split(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """`by_split` of each record."""
    names = frozenset(chain.from_iterable(set(map(tuple, records))))  # rows of one log hold mostly the same names
    return records if names.isdisjoint(SPLIT_NAMES | {_EVAL_TIME}) else [by_split(record) for record in records]


def by_split(record: dict[str, Any]) -> dict[str, Any]:
    """The record with `eval/reward` for `reward`, where one of its cells says that it is of held-out data."""
    if _EVAL_TIME in record and not any("loss" in name for name in record):
        return {on_split(name, "eval/"): cell for name, cell in record.items()}
    for key in record.keys() & SPLIT_NAMES:
        if prefix := split_prefix(record[key]):
            return {name if name == key else on_split(name, prefix): cell for name, cell in record.items()}
    return record


def under_its_set(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    """An entry of one of several evaluation sets: what TRL adds has no name of the set (`eval_accuracy`), and the time has one
    (`eval_bench_runtime`)."""
    own = next((found[1] for name in entry if (found := _TIMED.fullmatch(str(name)))), None)
    if own is None:
        return entry
    its = f"eval_{own}_"
    others = {name for name in entry if str(name).startswith("eval_") and not name.startswith(its)}
    return {name.replace("eval_", its, 1) if name in others else name: value for name, value in entry.items()}


def of_group(name: str, rewards: Any) -> dict[str, float] | None:
    """A list of rewards in one row: their mean, and their spread under the name of a group's. None for other lists."""
    if not isinstance(rewards, list) or not 2 <= len(rewards) <= _MAX_GROUP or not _GROUP.fullmatch(name):
        return None
    if not all(isinstance(reward, (int, float)) for reward in rewards):
        return None
    values = np.array([as_float(reward) for reward in rewards])
    with np.errstate(invalid="ignore", over="ignore"):
        return {name: float(values.mean()), f"{name.removesuffix('s')}_group_std": float(values.std())}


def says_reward(name: str) -> bool:
    """Whether a name may be that of a reward, of which a missing value means something."""
    return _REWARD.search(name) is not None


def seconds(found: re.Match[str]) -> float:
    """Of `1 day, 2:00:00`."""
    days, hours, minutes, rest = (float(part or 0) for part in found.groups()[-4:])
    return ((days * 24 + hours) * 60 + minutes) * 60 + rest


class Columns:
    """Curves by name. A name may be absent from any row; its curve then has no point there."""

    def __init__(self, *, quoted: bool = False) -> None:
        self.quoted = quoted  #: people wrote the rows by hand, so that "0.5" is a number too
        self._parts: dict[str, list[tuple[np.ndarray, np.ndarray]]] = {}
        self._cells: dict[str, tuple[list[float], list[float]]] = {}
        self._text: dict[str, Any] = {}
        self._nulls: dict[str, list[float]] = {}
        self.config: dict[str, Any] = {}
        self.not_numbers: set[str] = set()  #: names of lists and other things that are neither curve nor constant

    def extend(self, name: str, index: np.ndarray, values: np.ndarray) -> None:
        """Adds a run of points of one name, shapes (n,)."""
        if not len(values):
            return
        if name in self._cells:
            self._settle(name)
        if name not in self._parts:
            spend(NAME)
        spend(POINT * len(values))
        self._parts.setdefault(name, []).append((index, values))

    def add_nulls(self, name: str, index: np.ndarray | list[float]) -> None:
        """Notes rows that hold null where other rows hold a number; kept for rewards only."""
        if len(index) and says_reward(name):
            self._nulls.setdefault(name, []).extend(index)

    def add(self, name: str, index: float, value: float) -> None:
        """Adds one point."""
        cells = self._cells.get(name)
        if cells is None:
            spend(NAME)
            cells = self._cells[name] = ([], [])
        elif not len(cells[0]) % _COUNTED:
            spend(POINT * _COUNTED)
        cells[0].append(index)
        cells[1].append(value)

    def add_records(self, records: Sequence[dict[str, Any]], index: np.ndarray) -> None:
        """Adds whole records; `index` has shape (len(records),)."""
        alike = _alike(records)
        names = list(dict.fromkeys(chain.from_iterable(alike)))
        if len(names) * len(records) > _MAX_TABLE:
            for row, record in zip(index, records, strict=True):
                for name, value in record.items():
                    self.add_object(name, row, value)
            return
        values, absent = np.zeros((len(names), len(records))), np.ones((len(names), len(records)), dtype=bool)
        places = {name: i for i, name in enumerate(names)}
        for own, rows in alike.items():
            chosen = records if len(rows) == len(records) else map(records.__getitem__, rows)
            cells = [*chain.from_iterable(map(dict.values, chosen))]
            found = _numbers(cells, len(own))
            if found is None:
                for name in filter(says_reward, names):
                    empty = [row for row, record in enumerate(records) if record.get(name, 0) is None]
                    self.add_nulls(name, index[empty])
                if len(rows) < len(records):
                    cells = [record.get(name) for record in records for name in names]
                for i, name in enumerate(names):
                    self._add_column(name, cells[i :: len(names)], index)
                return
            if found[1].any():
                for name, empty in zip(own, found[1], strict=True):
                    self.add_nulls(name, index[rows][empty])
            if len(rows) == len(records):
                values, absent = found
                break
            at = np.ix_([places[name] for name in own], rows)
            values[at], absent[at] = found
        self.add_numbers(names, values, absent, index)

    def add_numbers(
        self, names: Sequence[str], values: np.ndarray, absent: np.ndarray | None, index: np.ndarray
    ) -> None:
        """Adds a column of numbers for each name; shapes (names, rows), index (rows,)."""
        gaps = set() if absent is None else set(np.flatnonzero(absent.any(axis=1)).tolist())
        for i, name in enumerate(names):
            if absent is not None and i in gaps:
                self.extend(name, index[~absent[i]], values[i, ~absent[i]])
            else:
                self.extend(name, index, values[i])

    def add_column(self, name: str, column: Sequence[Any], index: np.ndarray) -> None:
        """Adds one name's cells, whatever they hold."""
        self.add_nulls(name, index[[value is None for value in column]])
        self._add_column(name, column, index)

    def _add_column(self, name: str, column: Sequence[Any], index: np.ndarray) -> None:
        types = set(map(type, column))
        if types <= _NUMBERS:
            try:
                values = np.array(column, dtype=float)
            except OverflowError:  # an integer beyond 1e308
                pass
            else:
                if _NONE in types:
                    present = np.array([value is not None for value in column])
                    index, values = index[present], values[present]
                self.extend(name, index, values)
                return
        for at, value in zip(index, column, strict=True):
            if value is not None:
                self.add_object(name, at, value)

    @property
    def words(self) -> int:
        """The number of names whose text is not the same in all rows."""
        return sum(text is _VARIES for text in self._text.values())

    def add_text(self, name: str, value: str) -> None:
        """Notes a text: a name that holds one and the same text in every row is a fact about the run."""
        if self._text.setdefault(name, value) != value:
            self._text[name] = _VARIES

    def add_object(self, name: str, index: float, value: Any) -> None:
        """Adds whatever a cell holds: a number, a text, or an object, whose leaves get names joined with '/'."""
        if type(value) is float:
            self.add(name, as_float(index), value)
        elif isinstance(value, Mapping) and name.rpartition("/")[2].lower() in CONFIG_NAMES:
            self.config.update(leaves(value, "."))
        elif isinstance(value, Mapping) and "_type" in value:  # a table, image or histogram of wandb or trackio
            self.not_numbers.add(name)
        elif isinstance(value, Mapping):
            for key, leaf in leaves(value, "/"):
                self._add_leaf(f"{name}/{key}" if name else key, index, leaf)
        else:
            self._add_leaf(name, index, value)

    def _add_leaf(self, name: str, index: float, value: Any) -> None:
        if isinstance(value, str) and value in _SPELLED_OUT:
            value = float(value)
        elif isinstance(value, str) and (counted := progress(name, value)):
            name, value = counted
        elif isinstance(value, str) and "elapsed" in name and (spent := re.fullmatch(CLOCK, value)):
            value = seconds(spent)
        elif self.quoted and isinstance(value, str) and _QUOTED.fullmatch(value):
            self.add_text(name, value)  # an option, as long as it is the same in all rows
            value = float(value)
        elif group := of_group(name, value):
            for called, number in group.items():
                self.add(called, as_float(index), number)
            return
        if isinstance(value, (int, float)):
            self.add(name, as_float(index), as_float(value))
        elif isinstance(value, str):
            self.add_text(name, value)
        elif value is not None:
            self.not_numbers.add(name)
        else:
            self.add_nulls(name, [as_float(index)])

    def _settle(self, name: str) -> None:
        """Turns the single points of a name into a run of points."""
        index, values = self._cells.pop(name)
        self._parts.setdefault(name, []).append((np.array(index, dtype=float), np.array(values, dtype=float)))

    def curves(self) -> dict[str, Curve]:
        """The curves, in order of first appearance. Curves with the same rows share one index array."""
        for name in list(self._cells):
            self._settle(name)
        shared: dict[tuple[int, ...], list[np.ndarray]] = {}
        for parts in self._parts.values():
            shared.setdefault(tuple(id(index) for index, _ in parts), [index for index, _ in parts])
        indices = dict(zip(shared, _joined(shared.values()), strict=True))
        values = _joined([values for _, values in parts] for parts in self._parts.values())
        return {
            name: Curve(index=indices[tuple(id(index) for index, _ in parts)], values=joined)
            for (name, parts), joined in zip(self._parts.items(), values, strict=True)
        }

    def nulls(self) -> dict[str, np.ndarray]:
        """The rows in which a reward was null."""
        return {name: np.array(index, dtype=float) for name, index in self._nulls.items()}

    def constants(self) -> dict[str, Any]:
        """The hyperparameters of the rows, and every text that is the same in all rows."""
        texts = {
            name: text
            for name, text in self._text.items()
            if text is not _VARIES and (name not in self._parts or _QUOTED.fullmatch(text))
        }
        return {**texts, **self.config}

    def recording(self, format_: str, **more: Any) -> Recording:
        """What was gathered, as a recording of this format; `more`: its other fields."""
        curves, nulls = self.curves(), self.nulls()
        return Recording(
            format=format_, curves=curves, nulls=nulls, config=self.constants(), notes=self.notes(), **more
        )

    def notes(self) -> list[str]:
        """What was left out because it is no number, in one line."""
        names = sorted(self.not_numbers - self._parts.keys() - self._cells.keys())
        if not names:
            return []
        more = f" and {len(names) - 5} more" if len(names) > 5 else ""
        return [f"not numbers, left out: {', '.join(names[:5])}{more}"]


def _numbers(cells: list[Any], width: int) -> tuple[np.ndarray, np.ndarray] | None:
    """Rows of `width` numbers by column, and which of them are None; shapes (width, rows). None if there is anything else."""
    numbers = array("d")  # takes numbers and nothing else
    absent = np.zeros(len(cells), dtype=bool)
    try:
        try:
            numbers.fromlist(cells)
        except TypeError:
            absent = np.array([cell is None for cell in cells])
            numbers.fromlist([0.0 if cell is None else cell for cell in cells])
    except (TypeError, OverflowError):
        return None
    return np.array(numbers).reshape(-1, width).T, absent.reshape(-1, width).T


def _alike(records: Sequence[dict[str, Any]]) -> dict[tuple[str, ...], Sequence[int]]:
    """Names -> rows of the records that hold just these, in this order; records without any are left out."""
    kinds = list(map(tuple, records))
    if len(set(kinds)) == 1:
        return {kinds[0]: range(len(kinds))} if kinds[0] else {}
    alike: dict[tuple[str, ...], list[int]] = {}
    for row, names in enumerate(kinds):
        alike.setdefault(names, []).append(row)
    alike.pop((), None)
    return {**alike}


def _joined(curves: Iterable[list[np.ndarray]]) -> list[np.ndarray]:
    """Each curve's parts as one array, all of them in one piece of memory: the system hands out a large one faster."""
    curves = list(curves)
    ends = [0, *accumulate(sum(map(len, parts)) for parts in curves)]
    memory = np.empty(ends[-1])
    return [np.concatenate(parts, out=memory[i:j]) for parts, (i, j) in zip(curves, pairwise(ends), strict=True)]


def progress(name: str, text: str) -> tuple[str, float] | None:
    """How far a counter is that is written with its end, as "global_step/max_steps": "12/547" is; None for other texts."""
    count, slash, _ = text.partition("/")
    named = _PROGRESS.fullmatch(name) if slash else None
    return (named[1], float(count)) if named and count.isdecimal() else None


def leaves(tree: Mapping[Any, Any], joint: str, limit: int = 100_000) -> Iterator[tuple[str, Any]]:
    """(path, value) of every leaf that is not an object, in the order of the tree. Raises ValueError above `limit`."""
    stack = [("", iter(tree.items()))]
    count = 0
    while stack:
        prefix, items = stack[-1]
        for key, value in items:
            if isinstance(value, Mapping):
                stack.append((f"{prefix}{key}{joint}", iter(value.items())))
                break
            count += 1
            if count > limit:
                raise ValueError(f"more than {limit} values in one object")
            yield f"{prefix}{key}", value
        else:
            stack.pop()


def as_float(value: int | float) -> float:
    """The float nearest to a number; an integer beyond 1e308 is infinite."""
    try:
        return float(value)
    except OverflowError:
        return float("inf") if value > 0 else float("-inf")
