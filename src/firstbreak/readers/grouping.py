"""Which files below a path are one run, and why.

Folders are told apart by their names. Text logs that lie side by side are told apart by what they say: logs of one run are
copies of each other, go on where the other ends, hold other metrics, or are named as parts (`rank0.log`, `eval.csv`).
Logs that begin at the same step with the same metrics and go on with other numbers are different runs.
"""

import contextvars
import enum
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from itertools import combinations, pairwise
from pathlib import Path
from types import ModuleType

import numpy as np

from firstbreak import dialects
from firstbreak.model import Series
from firstbreak.patterns import pattern
from firstbreak.readers import Recording, Unreadable, wandb_api
from firstbreak.readers.opening import beneath, open_file, roots_of
from firstbreak.readers.read import (
    A_TRIAL,
    PARTS_OF_A_RUN,
    ROUNDING,
    RUNS,
    claimed,
    existing,
    files,
    is_empty,
    may_hold_a_score,
    on_axis,
    whole_folder,
)
from firstbreak.values import dataclass
from firstbreak.words import first_few

ROOT_OF_A_RUN = pattern(
    r"tfevents|\.wandb$|monitor\.csv$|^(progress|result|metrics|trainer_state|evaluations|trainer_log|logs?)\.(csv|txt|jsonl?|npz)$"
)
TEXT = frozenset({"console", "csv", "jsonl"})  #: formats of which each file may be a run of its own
BEGINNING = 1 << 20  #: bytes of a file that are looked at
LEAST = 3  #: points of a curve that can be compared
FILES = 20  #: of a folder that are compared with a log beside it
COMPARED = 8  #: logs of a folder with which each further one is compared
NAMED = 4  #: files that a sentence names
MOST_UNSAID = 3  #: logs that are taken for one run without a word
_EVALUATES = pattern(r"eval|val(?![a-z])|valid|test|held", re.IGNORECASE)
_PART = pattern(
    r"(rank|worker|node|gpu|proc|process|actor|learner|rollout|trainer|env|evals?|evaluation|val|valid|validation|test|train"
    r"|training|stdout|stderr|err|error|errors|out|debug|info|warn|monitor|system|episodes?)\d*",
    re.IGNORECASE,
)


class Relation(enum.Enum):
    """What two logs are to each other."""

    COPY = "the same numbers"
    GOES_ON = "one goes on after the other"
    OTHER = "no metric in common"
    APART = "the same metrics from the same step on, with other numbers"


COUNTED_ALIKE = 0.9  #: of the steps of one log: two axes of so many equal numbers are one (convention)


class How(enum.Enum):
    """How a path is divided into runs."""

    AUTO = "auto"
    ONE = "one"  #: all of it is one run
    EACH = "each"  #: every log and every folder directly below is a run


@dataclass(frozen=True)
class Grouping:
    """The runs of a path, and what is said of how they were told apart ("" where nothing had to be decided)."""

    runs: tuple[Path, ...]
    why: str = ""


def find_runs(path: str | os.PathLike[str]) -> list[Path]:
    """The runs below a path: the path itself, unless it is a folder of separate runs. See `group`."""
    return list(group(path).runs)


def group(path: str | os.PathLike[str], how: How = How.AUTO) -> Grouping:
    """Divide a path into runs. Raises `Unreadable` where there is nothing.

    A folder holds separate runs when several of its children hold readable files and none of them is named like a part of
    a run (checkpoint-10, tensorboard, eval, ...) without being a training of its own, unless a file that a trainer writes at
    the root of a run lies beside them.
    A folder `runs` is a part where it holds one run, and holds those of a project where it holds several.
    """
    if wandb_api.is_address(str(path)):
        return Grouping((Path(str(path)),))
    place = existing(path)
    if place != Path(path):  # what came out of a pipe
        return Grouping((Path(path),))
    if how is How.ONE:
        return Grouping((place,), f"{place}: read as one run, as asked")
    with beneath(*roots_of(place)):
        return _each(place) if how is How.EACH else _below(place)


def _each(place: Path) -> Grouping:
    """Every log and every folder directly below the path."""
    logs = [(p, reader) for p, reader in claimed(place) if not getattr(reader, "BESIDE", False)]
    found = sorted({place / p.relative_to(place).parts[0] for p, _ in logs if p != place and _has_curves(p)})
    if not found:
        return Grouping((place,))
    return Grouping(tuple(found), f"{place}: {len(found)} runs, each log and folder in it, as asked")


def _below(place: Path) -> Grouping:
    if not place.is_dir() or whole_folder(place) or all((place / name).is_file() for name in A_TRIAL):
        return Grouping((place,))
    # a folder in which nothing can be read is still a run, whose report says so
    readable = [
        (p, r)
        for p, r in files(place)
        if not isinstance(r, Unreadable) or not (p.is_dir() or is_empty(p) or not may_hold_a_score(p))
    ]
    logs = [p for p, reader in readable if not getattr(reader, "BESIDE", False)]
    children = sorted({place / p.relative_to(place).parts[0] for p in logs})
    own = [p for p in logs if p.parent == place]
    folders = [c for c in children if c not in own]
    parts = any(PARTS_OF_A_RUN.match(c.name) for c in folders if c.name != RUNS)
    if any(ROOT_OF_A_RUN.search(p.name) for p in own) or (parts and not _trained_apart(folders)):
        return Grouping((place,))
    text = [p for p, r in readable if p in own and isinstance(r, ModuleType) and r.__name__.rpartition(".")[2] in TEXT]
    if not folders:
        return _side_by_side(place, text)
    if len(folders) == 1 and own:
        return _logs_and_folders(place, text, _below(folders[0]).runs)
    if _numbered_parts(folders):
        names = first_few([folder.name for folder in folders], NAMED)
        return Grouping(
            (place,), f"{place}: {names} are one run: {Relation.GOES_ON.value}. --each reads each of them as a run."
        )
    below = [_below(folder) for folder in folders]
    found = [run for grouping in below for run in grouping.runs]
    alone = folders[0].name != RUNS and len(logs) == len(readable)
    if len(found) < 2 and not alone:
        return Grouping((place,))
    if own:
        return _logs_and_folders(place, text, found)
    return Grouping(tuple(found), " ".join(filter(None, (grouping.why for grouping in below))))


def _trained_apart(folders: Sequence[Path]) -> bool:
    """Whether two folders hold two trainings, one of them named like a part of a run: `ppo_a` and `train_b`.

    An evaluation has the names of the training that it is of.
    """
    pairs = combinations(folders[:COMPARED], 2)
    alike = ((a, b) for a, b in pairs if bool(_EVALUATES.search(a.name)) == bool(_EVALUATES.search(b.name)))
    return any(relation(a, b) is Relation.APART and len(_shared(a, b)) > 1 for a, b in alike)


def _numbered_parts(folders: Sequence[Path]) -> bool:
    """`part1` and `part2`, of which each goes on where the one before ends."""
    if len(folders) < 2 or len(folders) > COMPARED or len({re.sub(r"\d+", "", folder.name) for folder in folders}) > 1:
        return False
    for one, other in pairwise(map(_curves, folders)):
        shared = [name for name in one if name in other and _tells(one[name]) and _tells(other[name])]
        later = sum(_goes_on(one[name], other[name]) and one[name].steps[0] < other[name].steps[0] for name in shared)
        if not shared or 2 * later <= len(shared):  # a monitor counts its own steps in each part
            return False
    return True


def _side_by_side(place: Path, logs: Sequence[Path]) -> Grouping:
    """Text logs in one folder: runs of their own where any two are, copies left out."""
    kept: list[Path] = []
    copies: list[str] = []
    apart: tuple[Path, Path] | None = None
    for log in logs:
        related = {other: relation(log, other) for other in kept[:COMPARED]}
        if twin := next((other for other, what in related.items() if what is Relation.COPY), None):
            copies.append(f"{log.name} (a copy of {twin.name})")
            continue
        apart = apart or next(((o, log) for o, what in related.items() if what is Relation.APART), None)
        kept.append(log)
    kept = [log for log in kept if _has_curves(log)]
    if apart is None or len(kept) < 2:
        return Grouping((place,), _put_together(place, logs))
    left_out = f" Left out: {first_few(copies, NAMED)}." if copies else ""
    return Grouping(
        tuple(kept),
        f"{place}: {len(kept)} logs are {len(kept)} runs: {apart[0].name} and {apart[1].name} hold {Relation.APART.value}."
        f"{left_out} --one-run reads all of it as one run.",
    )


def _logs_and_folders(place: Path, logs: Sequence[Path], runs: Sequence[Path]) -> Grouping:
    """Text logs beside folders of runs: runs of their own, unless one of the folders holds what they say."""
    mine: list[Path] = []
    others: list[str] = []
    for log in logs:
        related = [relation(log, run) for run in runs]
        if Relation.APART in related and Relation.COPY not in related:
            mine.append(log)
        else:
            others.append(log.name)
    if not mine and len(runs) < 2:
        return Grouping((place,))
    what = "holds no run of its own" if len(others) == 1 else "hold no run of their own"
    left_out = f" Not read: {first_few(others, NAMED)}, which {what}." if others else ""
    if not mine:
        return Grouping(tuple(runs), f"{place}: {len(runs)} folders are {len(runs)} runs.{left_out}" if others else "")
    texts, folders = (first_few([path.name for path in paths], NAMED) for paths in (mine, runs))
    return Grouping(
        (*runs, *mine),
        f"{place}: {texts} beside {folders}: {len(runs) + len(mine)} runs, which hold {Relation.APART.value}.{left_out} "
        "--one-run reads all of it as one run.",
    )


def _put_together(place: Path, logs: Sequence[Path]) -> str:
    """What is said where logs were read as one run because of what they hold."""
    first = next(
        ((a, b, what) for i, a in enumerate(logs[:COMPARED]) for b in logs[i + 1 : COMPARED]
         if (what := relation(a, b)) in (Relation.COPY, Relation.GOES_ON)), None,
    )  # fmt: skip
    if first is None and len(logs) > MOST_UNSAID:
        names = first_few([log.name for log in logs], NAMED)
        return f"{place}: {len(logs)} logs are read as one run: {names}. --each reads each log as a run."
    if first is None:
        return ""
    a, b, what = first
    return f"{place}: {a.name} and {b.name} are one run: {what.value}. --each reads each log as a run."


def relation(one: Path, other: Path) -> Relation:
    """What two logs (or a log and the folder of a run) are to each other, by their beginnings."""
    if _named_as_parts(one, other):
        return Relation.OTHER
    left, right, shared = _curves(one), _curves(other), _shared(one, other)
    if not shared:
        return Relation.OTHER
    if all(_goes_on(left[name], right[name]) for name in shared):
        return Relation.GOES_ON
    same = sum(_alike(left[name], right[name]) for name in shared)
    return Relation.COPY if 2 * same > len(shared) else Relation.APART


def _shared(one: Path, other: Path) -> list[str]:
    left, right = _curves(one), _curves(other)
    return [name for name in left if name in right and _tells(left[name]) and _tells(right[name])]


def _named_as_parts(one: Path, other: Path) -> bool:
    """`rank0.log` and `rank1.log`, `train.csv` and `eval.csv`, `run.out` and `run.err`."""
    if other.is_dir():
        return False
    joined = [re.sub(r"([a-z])[-_.](\d)", r"\1\2", path.stem.lower()) for path in (one, other)]  # rank_0 is rank0
    words = [set(re.split(r"[^a-z0-9]+", name)) for name in joined]
    streams = {one.suffix.lower(), other.suffix.lower()} == {".out", ".err"}
    return streams or any(_PART.fullmatch(word) for word in words[0] ^ words[1])


def _goes_on(one: Series, other: Series) -> bool:
    """Whether one curve begins where the other has been for a while. Epochs and steps cannot be compared."""
    if one.axis != other.axis:
        return False
    first, second = sorted((one, other), key=lambda s: float(s.steps[0]))
    between = float(np.median(np.diff(np.unique(first.steps)))) if len(np.unique(first.steps)) > 1 else 0.0
    return float(second.steps[0]) > float(first.steps[0]) + 2 * between


def _alike(one: Series, other: Series) -> bool:
    """Whether two curves hold the same numbers where both have steps; a console's are rounded."""
    short, long = sorted((one, other), key=len)
    if one.axis != other.axis and np.isin(short.steps, long.steps).mean() < COUNTED_ALIKE:
        return _alike_in_order(short.values, long.values)
    inside = (short.steps >= long.steps[0]) & (short.steps <= long.steps[-1])
    if not inside.any():
        return False
    places, first = np.unique(long.steps, return_index=True)
    expected = np.interp(short.steps[inside], places, long.values[first])
    return _near(short.values[inside], expected, long.values)


def _alike_in_order(short: np.ndarray, long: np.ndarray) -> bool:
    """Whether two curves over different axes hold the same numbers: point by point from the start, or over the same whole."""
    stretched = np.interp(np.linspace(0, 1, len(short)), np.linspace(0, 1, len(long)), long)
    return _near(short, long[: len(short)], long) or _near(short, stretched, long)


def _near(found: np.ndarray, expected: np.ndarray, curve: np.ndarray) -> bool:
    near = np.isclose(found, expected, rtol=ROUNDING, atol=ROUNDING * float(np.ptp(curve)))
    return bool(near.mean() >= 0.9)


def _tells(curve: Series) -> bool:
    """Whether a curve can tell two runs apart: it moves, and is none of the clock or the schedule."""
    return len(curve) >= LEAST and float(np.ptp(curve.values)) > 0


_OF_ALL_RUNS = ("progress.", "time.", "throughput.", "lr", "epsilon", "memory.")


def _curves(place: Path) -> Mapping[str, Series]:
    """The curves of the beginning of a log, by signal where known, or of a folder's files."""
    if not place.is_dir() or whole_folder(place):
        return _cached(place)
    found: dict[str, Series] = {}
    for path, reader in list(claimed(place))[:FILES]:
        if not getattr(reader, "BESIDE", False):
            found = {**_cached(path), **found}
    return found


def _cached(path: Path) -> Mapping[str, Series]:
    try:
        state = path.stat()
    except OSError:
        return {}
    return _of_beginning(path, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=256)
def _of_beginning(path: Path, size: int, changed: int) -> Mapping[str, Series]:
    recording = _beginning(path, size)
    if recording is None:
        return {}
    names = set(recording.curves)
    dialect = dialects.choose(names, recording.config, None)
    meanings = dialects.understand(names, dialect)
    found: dict[str, Series] = {}
    for curve in on_axis(recording, dialect, []):
        name = meanings[curve.raw].signal if curve.raw in meanings else curve.raw
        finite = curve.finite
        if len(finite) and not name.startswith(_OF_ALL_RUNS) and len(finite) > len(found.get(name, ())):
            found[name] = finite
    return found


def _beginning(path: Path, size: int) -> Recording | None:
    """What a reader finds in the first part of a file, or None."""
    with suppress(Exception):  # `read` says what is wrong with the file
        found = next(iter(claimed(path)), None)
        if found is None:
            return None
        read: Callable[[Path], Recording] = found[1].read
        if size <= BEGINNING or path.is_dir():
            return read(path)
        import tempfile

        with tempfile.TemporaryDirectory(prefix="firstbreak-") as folder, open_file(path) as file:
            part = Path(folder) / path.name
            part.write_bytes(file.read(BEGINNING).rpartition(b"\n")[0] + b"\n")
            return contextvars.Context().run(read, part)  # it lies outside of what was given
    return None


def _has_curves(path: Path) -> bool:
    return bool(_curves(path))


def without_log(place: Path, runs: Iterable[Path]) -> list[Path]:
    """The folders beside the runs below `place` that hold no run: what a user may look for in a list of them.

    Folders that are named like a part of a run, and hidden ones, are left out.
    """
    held: set[Path] = set()
    for run in runs:
        held.add(run)
        held.update(folder for folder in run.parents if folder == place or place in folder.parents)
    beside = [folder for folder in held if folder.is_dir() and any(run.parent == folder for run in held)]
    empty = (
        Path(entry.path) for folder in beside for entry in os.scandir(folder) if entry.is_dir(follow_symlinks=False)
    )
    named = (
        folder for folder in empty if not folder.name.startswith((".", "_")) and not PARTS_OF_A_RUN.match(folder.name)
    )
    return sorted(folder for folder in named if folder not in held)
