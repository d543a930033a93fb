"""path -> Run: sniff the formats, read every file, choose the dialect, merge files, restarts and steps.

The merging rules, in the order in which they are applied:

1. Every readable file below the path contributes. Files of one format are pieces of one stream, ordered by their own
   start time; files of different formats are copies or complements of each other.
2. Where the step goes back, the run was restarted: points at or after the step where the later piece begins are
   replaced by it. Equal steps inside one piece are separate measurements and are all kept, unless no value differs: then
   they are copies. So is a file that holds what another one holds.
   A table whose step begins anew with other metrics holds another training: the one that learns from rewards is read.
3. A table's step axis is the best column of the dialect's AXIS; without one, the row number. Rows in another order are put
   in the order of their steps, where each step stands once.
4. Where several raw names or files carry the same signal, one that the user has named counts before one that a dialect lists,
   and that before one that was read by its words; then the best axis (steps before epochs before rows), then the most
   points, then the numbers that were not rounded for a screen. The others are listed. What only a copy with a lesser axis
   holds takes its steps from the numbers that both hold.
5. NaN and infinities are evidence: they are never dropped here. A reward that is null counts as NaN (`_null`).
6. A score that is repeated from one measurement to the next has one point for each (`_repeats`).
"""

import filecmp
import os
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from functools import partial
from itertools import compress, islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from firstbreak import dialects
from firstbreak.dialects import Name, Origin, hyperparameters
from firstbreak.masking import Mask
from firstbreak.model import EMPTY, Event, Happened, Run, Sample, Samples, Series
from firstbreak.patterns import pattern
from firstbreak.readers import (
    Curve,
    Recording,
    Unreadable,
    _columns,
    _null,
    _repeats,
    _stages,
    budget,
    readers,
    wandb_api,
)
from firstbreak.readers._json import loads
from firstbreak.readers._samples import PART, Span
from firstbreak.readers.checkpoints import NUMBERED, checkpoints_in, on_the_axis
from firstbreak.readers.names import Names, absent
from firstbreak.readers.names import for_run as names_for_run
from firstbreak.readers.opening import beneath, beneath_resolved, head_of, leads_out, piped, plain, roots_of
from firstbreak.values import replace

MAX_FILES = 20_000  #: a run folder with more files than this is listed only so far
MAX_DEPTH = 8
MOST_NAMES = 10_000  #: metrics of a run
EVALUATION_FOLDERS = frozenset({"eval", "evaluation", "validation", "val", "test"})
#: a table beside the log of the training
EVALUATION_TABLE = pattern(
    r"(?!.*train)(\w+[_.-])?(eval|evals|evaluations?|val|validation)([_-](log|metrics|results|scores|history))?(\.monitor)?\.(csv|tsv|jsonl)",
    re.I,
)
PARTS_OF_A_RUN = pattern(
    r"(checkpoint|global_step|events|logs?$|runs?$|tb$|tensorboard|wandb|files$|eval|val|test|train|metrics|plots"
    r"|completions|rollouts|samples|scalars|configs?$|monitor|version_|trackio|mlruns|swanlog)",
    re.IGNORECASE,
)
ADDRESS = pattern(r"[a-zA-Z][a-zA-Z0-9+.-]+:/{1,2}")  #: a Path keeps one slash of two
REMOTE = "copy the run here first; a wandb run is `wandb:entity/project/run`"
TEXT_LOG = pattern(
    r"\.(?:csv|tsv|jsonl|ndjson|log|out|err|stdout|stderr)$|^(?:log|progress|metrics)\.txt$", re.IGNORECASE
)
LIKE_A_LOG = pattern(
    rf"{TEXT_LOG.pattern}|tfevents|\.(?:txt|json|npz|npy|parquet|wandb|swanlab|db|sqlite3?|ya?ml|toml|ipynb)$",
    re.IGNORECASE,
)
#: how a program and a pickle begin: no log, whatever the name. Ray Tune's `basic-variant-state-*.json` is a pickle
NO_LOG = (b"\x7fELF", *(b"\x80" + bytes([protocol]) for protocol in range(2, 6)))
#: how files of a name begin, where no other file has that name
BEGINNINGS = {".json": (b"{", b"["), ".ipynb": (b"{",), ".npz": (b"PK",), ".npy": (b"\x93NUMPY",), ".parquet": (b"PAR1",),
              **dict.fromkeys((".db", ".sqlite", ".sqlite3"), (b"SQLite format 3\0",))}  # fmt: skip
#: options and texts that come with a run: without them, the score is still there
OPTIONS_ONLY = pattern(
    r"\.(?:ya?ml|toml)$|(?:config|params|args|arguments|options|flags|settings|tokenizer|tokens|vocab)\w*\.json$"
    r"|requirements|readme|licen[cs]e|^debug[\w-]*\.log$",  # wandb links its own debug.log from the run's folder
    re.IGNORECASE,
)
#: what `firstbreak experiment run` writes beside the logs of a trial, and what tells the folder of one
OF_A_TRIAL = frozenset({"trial.json", "group.json", "result.json", "supervisor.txt", "interventions.jsonl", "settings.jsonl",
                        "watch.jsonl", "weights.jsonl"})  # fmt: skip
A_TRIAL = frozenset({"trial.json", "group.json"})
OPEN_IT = "check that you may read it"
ROUNDING = 0.02  #: by how much a console's number may differ from the same number in a file, and of the curve's range
MOST_ROWS_OF_A_STEP = 3  #: rows that the only step may count
ALIKE_POINTS = 5  #: fewer equal numbers may be chance
FROM_REWARDS = ("reward.", "episode.", "success_rate")  #: what a training has that learns from rewards
CLOCK = "eval.time."  #: what an evaluation took
MEASURED = ("eval.", "reward.", "success_rate", "pref.reward.")  #: scores that a logger may repeat until the next one
LARGEST = 1e100  #: squares of larger numbers overflow
RUNS = "runs"  #: SummaryWriter makes a folder of this name in a run, and people make one for all runs


COUNTS = frozenset({"progress.episodes", "progress.env_steps", "progress.updates"})
STEPS, ELAPSED = "progress.step", "time.elapsed"
COUNTED = ("episode", "iteration", "epoch")  #: axes beside which steps that fall are of something else
#: of an episode, beside its number
_STEPS = re.compile("(total|num|n|ep|episode)?[_ ]?(time|env)?[_ ]?steps?", re.IGNORECASE)
SOME_ROWS = 1 / 3  #: of the rows of another axis (convention)
SECONDS = "second"  #: axis of what was read off the machine
TIMES = ("time.", "throughput.")  #: signals of a clock
CLOCK_NAMES = frozenset({"time", "seconds", "secs", "sec", "wall", "clock", "timestamp"})
ROWS_OF_A_CLOCK = 8  #: fewer durations may rise by chance (convention)
UNIX = 1e9  #: seconds: a larger time counts from 1970
WALL_TIME = "wall_time"  #: the name of a curve that is made of the times of a log's events
CLOCKS = ("_timestamp", "_runtime")  #: names under which a log tells the time of each step


def read(path: Any, *, trainer: str | None = None, named: Names = EMPTY) -> Run:
    """One training run from a file, a folder (every readable file below it contributes), or `wandb:entity/project/run`; or
    from numbers in memory: a list of records, a dict of columns, a DataFrame.

    `trainer` names the dialect where the automatic choice is wrong; `named` explains metrics, as {raw name: canonical signal},
    and counts before the table [names] of firstbreak.toml in the run's folder and in the current folder. Raises `Unreadable`
    with one line that names the file, the place and the remedy; where a part of the run is readable, that part is returned
    and `Run.damage` says what was lost.
    """
    lost: dict[Path, str] = {}
    if not isinstance(path, str | os.PathLike):
        from firstbreak.readers import _memory

        found, path = _memory.recording(path), _memory.called(path)
        place = base = Path(path)
        recordings = [(place, found)]
    elif wandb_api.is_address(str(path)):
        place = base = Path(str(path))
        recordings = [(place, wandb_api.read(str(path)))]
    else:
        place = existing(path)
        base = place if place.is_dir() else place.parent
        with beneath(*roots_of(_file(place))):
            recordings, lost = _record(place)
    return assemble(path, place, base, recordings, lost, trainer, named)


def assemble(
    path: str | os.PathLike[str],
    place: Path,
    base: Path,
    recordings: list[tuple[Path, Recording]],
    lost: Mapping[Path, str],
    trainer: str | None,
    named: Names = EMPTY,
) -> Run:
    """The run that these recordings of files are parts of. Raises `Unreadable` where they hold nothing.

    `lost`: files that were not read -> what is said of each.
    """
    if not any(r.curves or r.config or r.has_samples for _, r in recordings):
        raise _nothing(place, recordings, lost)
    recordings, copies = _once(list(_bounded(recordings)))
    beside = {p for p, r in recordings if getattr(readers().get(r.format), "FALLBACK", False)}
    mask = Mask(os.environ)
    config = mask.tree(_merge_config([piece for piece in recordings if piece[0] not in beside]))
    fallback = mask.tree(_merge_config([piece for piece in recordings if piece[0] in beside]))
    names = {name for _, r in recordings for name in r.curves}
    try:
        dialect = dialects.choose(names, config, trainer)
    except ValueError as error:
        raise Unreadable(place, str(error), "leave the trainer out, or name one of these") from None
    notes = [f"{_relative(p, base)}: {note}" for p, r in recordings for note in r.notes]
    notes += [said for p, said in lost.items() if is_empty(p)]
    lost = {p: said for p, said in lost.items() if not is_empty(p)}
    notes += [f"{_relative(p, base)}: left out, a copy of {_relative(other, base)}" for p, other in copies]
    explained = names_for_run(place, named)
    understood = dialects.understand(names | _nulls(recordings), dialect, explained)
    if clocks := _clocks(recordings, understood):
        explained = {**clocks, **explained}
        understood = dialects.understand(names | _nulls(recordings), dialect, explained)
    rewards = {raw for raw, name in understood.items() if name.signal.startswith(("reward.", "success_rate"))}
    filled = []
    for p, recording in recordings:
        recording = _timed(recording, understood)
        recording, said = _null.as_nan(recording, rewards)
        notes += [f"{_relative(p, base)}: {note}" for note in said]
        filled.append((p, recording))
    events: list[Event] = []
    raw = [_in_range(series, notes) for series in _streams(filled, dialect, base, notes, events)]
    rounded = {_relative(p, base) for p, r in recordings if getattr(readers().get(r.format), "ROUNDED", False)}
    raw = _machine_on_steps(raw, notes)
    logged = {s.raw for s in raw}
    if logged != names | _nulls(recordings):  # a file in a folder of evaluations has names of its own
        understood = dialects.understand([s.raw for s in raw], dialect, explained)
    if dialects.trainer_name(dialect) is None:
        understood = _without_counts_of_something_else(raw, understood)
    series, unknown, duplicates = _translate(raw, understood, rounded, own=dialects.trainer_name(dialect) is None)
    notes += absent(named, names)
    notes += _read_by_meaning(series.values())
    series = _without_repetitions(series, notes)
    sampled = [p for p, r in recordings if r.has_samples]
    run = Run(
        path=str(path),
        formats=tuple(dict.fromkeys(r.format for _, r in recordings)),
        trainer=dialects.trainer_name(dialect),
        algorithm=dialects.algorithm(dialect, names, config),
        series=series,
        unknown=unknown,
        duplicates=duplicates,
        config=hyperparameters.completed(config, fallback, dialect, names),
        samples=_samples(sampled, base),
        files=tuple(_relative(p, base) for p, _ in recordings),
        damage=(*lost.values(), *(f"{_relative(p, base)}: {d}" for p, r in recordings for d in (*r.unread, *r.damage))),
        unread=(
            *(_relative(p, base) for p in lost if may_hold_a_score(p)),
            *(_relative(p, base) for p, r in recordings if r.unread or r.cut or (r.damage and not _holds(r))),
        ),
        notes=tuple(dict.fromkeys(notes)),
        events=(*events, *_events(filled, raw, base, dialect)),
    )
    return replace(run, checkpoints=on_the_axis(checkpoints_in(place), run)) if place.is_dir() else run


def _bounded(recordings: Iterable[tuple[Path, Recording]]) -> Iterator[tuple[Path, Recording]]:
    """The recordings with no more than MOST_NAMES curves in all: each name is compared with words that may explain it."""
    left = MOST_NAMES
    for path, recording in recordings:
        if (count := len(recording.curves)) > left:
            said = f"{count} metrics: {left} are read, and the others left out; check whether their names hold numbers"
            curves = dict(islice(recording.curves.items(), left))
            recording = replace(recording, curves=curves, cut=True, damage=[*recording.damage, said])
        left -= len(recording.curves)
        yield path, recording


def _holds(recording: Recording) -> bool:
    return bool(recording.curves or recording.has_samples)


def _once(recordings: Iterable[tuple[Path, Recording]]) -> tuple[list[tuple[Path, Recording]], list[tuple[Path, Path]]]:
    """The recordings without copies of others (a backup in the folder of the run), and each copy with what it repeats."""
    kept: list[tuple[Path, Recording]] = []
    copies: list[tuple[Path, Path]] = []
    for path, recording in sorted(recordings, key=lambda piece: len(piece[0].parts)):
        other = next((p for p, r in kept if _is_copy(path, recording, p, r)), None)
        if other is None:
            kept.append((path, recording))
        else:
            copies.append((path, other))
    places = {path for path, _ in kept}
    return [piece for piece in recordings if piece[0] in places], copies


def _is_copy(path: Path, recording: Recording, other: Path, known: Recording) -> bool:
    """Whether two files of one format hold the same numbers, and the same samples."""
    if recording.format != known.format or recording.curves.keys() != known.curves.keys():
        return False
    if recording.has_samples or known.has_samples or not recording.curves:
        return (
            path.is_file() and other.is_file() and path.name == other.name and filecmp.cmp(path, other, shallow=False)
        )
    pairs = [(curve, known.curves[name]) for name, curve in recording.curves.items()]
    return all(
        np.array_equal(a.index, b.index) and np.array_equal(a.values, b.values, equal_nan=True) for a, b in pairs
    )


def _clocks(recordings: Iterable[tuple[Path, Recording]], understood: Mapping[str, Any]) -> dict[str, str]:
    """The columns with a plain name for time that only rise: they say when a row was written, and not how long it took."""
    if any(name.signal.startswith(TIMES) for raw, name in understood.items() if raw.lower() not in CLOCK_NAMES):
        return {}
    found: dict[str, str] = {}
    for _, recording in recordings:
        for name, curve in recording.curves.items():
            values = curve.values[np.isfinite(curve.values)]
            if (
                name.lower() in CLOCK_NAMES
                and (name not in understood or understood[name].signal in ("time.step", "time.iteration"))
                and len(values) >= ROWS_OF_A_CLOCK
                and (np.diff(values) > 0).all()
            ):
                found[name] = "time.unix" if values[0] > UNIX else "time.elapsed"
    return found


def _timed(recording: Recording, understood: Mapping[str, Any]) -> Recording:
    """The recording with the time so far as a curve, from the times of its events, where the log has no time of its own."""
    signals = {name: understood[name].signal for name in recording.curves if name in understood}
    if any(signal.startswith(TIMES) and ".eval" not in signal for signal in signals.values()):
        return recording
    timed = [
        curve
        for name, curve in recording.curves.items()
        if curve.times is not None and not signals.get(name, "").startswith("eval.")
    ]
    longest = max(timed, key=lambda curve: len(curve.values), default=None)
    if longest is None or longest.times is None or len(longest.times) < 2 or not (np.diff(longest.times) >= 0).all():
        return recording  # one session without gaps in its clock
    curve = Curve(index=longest.index, values=longest.times - longest.times[0], times=longest.times)
    return replace(recording, curves={**recording.curves, WALL_TIME: curve})


def _nulls(recordings: Iterable[tuple[Path, Recording]]) -> set[str]:
    return {name for _, recording in recordings for name in recording.nulls}


def existing(path: str | os.PathLike[str]) -> Path:
    """The path as a place on this machine; raises `Unreadable` where there is nothing, or nothing that can be opened."""
    place = Path(path)
    if copy := piped(str(path)):
        return copy
    if ADDRESS.match(str(path)):
        raise Unreadable(str(path), "an address, not a place on this machine", REMOTE)
    if not str(path):
        raise Unreadable("''", "the path is empty", "give the folder or file that the trainer writes to")
    try:
        _file(place).stat()
    except FileNotFoundError:
        raise Unreadable(
            place, "no such file or folder", "give the folder or file that the trainer writes to"
        ) from None
    except OSError as error:
        problem = "a loop of symbolic links" if "symbolic" in str(error).lower() else (error.strerror or str(error))
        raise Unreadable(place, problem, "give a path that can be opened") from None
    return place


def _nothing(place: Path, recordings: list[tuple[Path, Recording]], lost: Mapping[Path, str]) -> Unreadable:
    said = [*lost.values(), *(f"{p}: {d}" for p, r in recordings for d in (*r.unread, *r.damage))]
    if said:
        more = f" (and {len(said) - 1} more)" if len(said) > 1 else ""
        return Unreadable(place, f"nothing in it could be read: {said[0]}{more}", "repair or re-export the file")
    if place.is_dir():
        return Unreadable(
            place,
            "no file in it is a training log that firstbreak knows",
            "give the folder the trainer writes its metrics to",
        )
    return Unreadable(place, *_why_not(place))


_EMPTY = "the file is empty", "give the one that the trainer writes its metrics to, or wait until it has"


def _why_not(file: Path) -> tuple[str, str]:
    """Why nothing reads a file, and the remedy."""
    if file.is_file() and not head_of(file):
        return _EMPTY
    return "not a training log that firstbreak knows", "`firstbreak explain readers` lists the formats"


# --- files -----------------------------------------------------------------------------------------------------------


def _record(place: Path) -> tuple[list[tuple[Path, Recording]], dict[Path, str]]:
    """Every readable file with its recording, and what is said of those that were lost on the way."""
    recordings: list[tuple[Path, Recording]] = []
    lost: dict[Path, str] = {}
    held = 0
    for path, reader in files(place):
        try:
            if isinstance(reader, Unreadable):
                raise reader
            with budget.of_file(held):
                recordings.append((path, reader.read(path)))
            held += budget.size_of(recordings[-1][1])
        except Exception as error:  # a reader's own mistake must not hide the other files
            lost[path] = failure(path, reader, error)
    if len(lost) == 1 and not recordings:
        raise Unreadable(*_parts(next(iter(lost.values())), place))
    return recordings, lost


def failure(path: Path, reader: ModuleType | Unreadable, error: Exception) -> str:
    """What is said of a file that a reader could not read."""
    if isinstance(error, Unreadable) or isinstance(reader, Unreadable):
        return str(error)
    if isinstance(error, MemoryError):
        said = str(error) or "does not fit the memory of this process"
        return str(Unreadable(path, said, f"give a part of it, or set {budget.MEMORY} to the GiB that a run may take"))
    return f"{path}: the {reader.__name__.rpartition('.')[2]} reader failed: {type(error).__name__}: {error}"


def _parts(line: str, place: Path) -> tuple[str, str, str]:
    problem, _, remedy = line.removeprefix(f"{place}: ").rpartition("; ")
    return (str(place), problem or line, remedy) if problem else (str(place), line, "repair or re-export the file")


def claimed(place: Path) -> Iterator[tuple[Path, ModuleType]]:
    """Every file (or folder that is read as a whole) that a reader claims."""
    return ((path, reader) for path, reader in files(place) if not isinstance(reader, Unreadable))


def files(place: Path, seen: Set[Path] = frozenset()) -> Iterator[tuple[Path, ModuleType | Unreadable]]:
    """Every file (or folder that is read as a whole) with the reader that claims it, or why it was not read.

    The latter are files that look like a log, and folders. Links to folders are followed where they lead out of this one to a
    folder that is allowed; those in `seen` have been.
    """
    if not place.is_dir():
        if reader := _claim(place) or _pasted(place):
            yield place, reader
        return
    with suppress(OSError):  # a closed folder is told of below
        alone = list(islice(place.iterdir(), 2))
        if len(alone) == 1 and not _claimed_or_why(alone[0]) and (reader := _pasted(alone[0])):
            yield alone[0], reader
            return
    count = 0
    closed: list[OSError] = []
    for folder, subfolders, names in os.walk(
        place, onerror=closed.append
    ):  # does not follow links, which may be a loop
        here = Path(folder)
        if whole := _claimed_or_why(here):
            subfolders.clear()
            yield here, whole
            continue
        depth = len(here.relative_to(place).parts)
        for link in (here / name for name in sorted(subfolders) if (here / name).is_symlink()):
            if problem := leads_out(link):
                yield link, problem
            elif (
                depth < MAX_DEPTH and not link.resolve().is_relative_to(place.resolve()) and link.resolve() not in seen
            ):
                yield from files(link, seen | {link.resolve()})
        subfolders[:] = sorted(s for s in subfolders if depth < MAX_DEPTH and s not in ("__pycache__", ".git", ".venv"))
        for name in sorted(set(names) - OF_A_TRIAL if A_TRIAL.issubset(names) else names):
            count += 1
            if count > MAX_FILES:
                yield (
                    place,
                    Unreadable(place, f"holds more than {MAX_FILES} files; others were left out", "give a part"),
                )
                return
            if found := _claimed_or_why(here / name):
                yield here / name, found
    for error in closed:
        shut = Path(str(error.filename))
        yield shut, Unreadable(shut, f"cannot be opened: {error.strerror}", OPEN_IT)


def _pasted(path: Path) -> ModuleType | None:
    """The reader of a page of Markdown that holds what a trainer printed: of one that was asked for, or is alone."""
    console = readers()["console"]
    page = path.is_file() and path.suffix.lower() == ".md" and not path.is_symlink()
    return console if page and console.speaks(path) else None


def _claimed_or_why(path: Path) -> ModuleType | Unreadable | None:
    """The reader of a file or folder, or why it has none although it looks like a log."""
    try:
        if is_empty(path):
            return Unreadable(path, *_EMPTY) if _like_scores(plain(path).name) else None
        return _claim(path) or _damaged(path)
    except Unreadable as problem:
        return problem if path.is_dir() or LIKE_A_LOG.search(plain(path).name) else None


def _damaged(path: Path) -> Unreadable | None:
    """What is said of a file that no reader claims and that is not what its name says: encrypted, or without its beginning."""
    if path.is_dir() or not _like_scores(name := plain(path).name.lower()):
        return None
    head = head_of(path).lstrip()
    begins = BEGINNINGS.get(Path(name).suffix)
    if head.startswith(NO_LOG):
        return None
    if begins is None:
        hidden = b"\0" in head and TEXT_LOG.search(name)
        return Unreadable(path, "is named like a log and holds no text", "copy or export it again") if hidden else None
    text = b"{" in begins
    if head.startswith(begins) and not (text and b"\0" in head):
        return None
    with suppress(ValueError):
        if text:
            loads(head)  # one number or text: no log
            return None
    return Unreadable(path, "does not begin like a file of this name", "copy or export it again")


def is_empty(path: Path) -> bool:
    """Whether a file has no byte yet: there is nothing in it that could be missed."""
    try:
        return path.is_file() and not path.stat().st_size
    except OSError:
        return False


def may_hold_a_score(path: Path) -> bool:
    """Whether a file or folder is named like one that holds the score of a run."""
    if path.is_symlink() and path.is_dir():
        return PARTS_OF_A_RUN.match(path.name) is not None and not path.name.startswith("checkpoint")
    return not NUMBERED.match(path.name) if path.is_dir() else _like_scores(plain(path).name)


def _like_scores(name: str) -> bool:
    return LIKE_A_LOG.search(name) is not None and not OPTIONS_ONLY.search(name)


def whole_folder(path: Path) -> bool:
    """Whether one reader reads this folder as a whole, as a wandb run or a database of MLflow."""
    return _claim(path) is not None


def _claim(path: Path) -> ModuleType | None:
    """The reader of a file or folder, or None. Raises `Unreadable` where it cannot be opened."""
    file = _file(path)
    try:
        if file.is_dir():
            return next((r for r in readers().of_folder(file, file.name) if r.claims(path)), None)
    except OSError as error:
        raise Unreadable(path, f"cannot be opened: {error.strerror or error}", OPEN_IT) from None
    head, name = head_of(file), plain(file)
    return next((r for r in readers().of_file(name.name, head) if r.sniff(name, head)), None)


def _file(path: Path) -> Path:
    """The file or folder itself: `runs.db#name` and `.aim#name` choose one run of several."""
    if path.exists():
        return path
    whole = str(path)
    before = (Path(whole[:i]) for i, character in enumerate(whole) if character == "#")
    return next((file for file in before if file.exists()), path)


def _relative(path: Path, base: Path) -> str:
    try:
        return str(path.relative_to(base))
    except ValueError:
        return str(path)


def _merge_config(recordings: Iterable[tuple[Path, Recording]]) -> dict[str, Any]:
    """Options of all files, the first that says something wins: None, -1 and "" are "not set" in every trainer's dump."""
    merged: dict[str, Any] = {}
    for _, recording in recordings:
        for key, value in recording.config.items():
            if merged.get(key) in (None, -1, ""):
                merged[key] = value
    return merged


def _samples(paths: Sequence[Path], base: Path) -> Samples | None:
    """The samples of these files, if there are any."""
    if not paths:
        return None
    roots = roots_of(base)
    whole = partial(_samples_in, roots, [(path, None) for path in paths])
    sources = tuple(_relative(path, base) for path in paths)
    return Samples(whole, sources, lambda: (partial(_samples_in, roots, part) for part in _divided(roots, paths)))


def _samples_in(roots: tuple[Path, ...], places: Iterable[tuple[Path, Span | None]]) -> Iterator[Sample]:
    samples = _in_turn(places)
    while True:
        with beneath_resolved(roots):  # ends before a sample is handed out: what is allowed here is not allowed there
            sample = next(samples, None)
        if sample is None:
            return
        yield sample


def _in_turn(places: Iterable[tuple[Path, Span | None]]) -> Iterator[Sample]:
    for path, span in places:
        if (reader := _claim(path)) is not None:
            yield from reader.samples(path) if span is None else reader.samples(path, span)


def _divided(roots: tuple[Path, ...], paths: Iterable[Path]) -> Iterator[list[tuple[Path, Span | None]]]:
    """A large file is several parts, and small ones after each other are one."""
    together: list[tuple[Path, Span | None]] = []
    size = 0
    for path in paths:
        with beneath_resolved(roots):
            reader = _claim(path)
            spans = reader.parts(path) if reader is not None and hasattr(reader, "parts") else []
        if reader is None:
            continue
        if together and (len(spans) > 1 or size > PART):
            yield together
            together, size = [], 0
        if len(spans) > 1:
            yield from ([(path, span)] for span in spans)
        else:
            together.append((path, None))
            size += path.stat().st_size
    if together:
        yield together


# --- streams ---------------------------------------------------------------------------------------------------------


def _streams(
    recordings: list[tuple[Path, Recording]], dialect: ModuleType, base: Path, notes: list[str], events: list[Event]
) -> Iterator[Series]:
    """One series per raw name and format, over all files of that format; what a merge tells is added to `events`."""
    by_format: dict[str, list[tuple[Path, Recording]]] = defaultdict(list)
    for path, recording in recordings:
        by_format[recording.format].append((path, recording))
    for format_, pieces in by_format.items():
        reader = readers().get(format_)  # there is none of what was recorded in memory
        tested = getattr(reader, "tested", None)
        tests = [piece for piece in pieces if tested and EVALUATION_TABLE.match(piece[0].name)]
        pieces = [piece for piece in pieces if piece not in tests]
        if len(pieces) > 1 and (merge := getattr(reader, "merge", None)):
            merged = merge([r for _, r in pieces])
            pieces = [(pieces[0][0], merged)]
            events += [replace(e, step=step, source=_relative(pieces[0][0], base)) for step, e in merged.events]
        judged = (p for p, r in recordings if any(name.startswith(("eval", "results")) for name in r.curves))
        if tests and (other := next(judged, None)) is not None:
            notes += [f"{_relative(p, base)}: left out, {_relative(other, base)} has the evaluations" for p, _ in tests]
        elif tests and tested:
            training = pieces[0][1] if pieces else None
            pieces.append((tests[0][0], tested([r for _, r in tests], training)))
        pieces.sort(key=lambda piece: (piece[1].order, _natural(piece[0])))
        parts: dict[str, list[Series]] = defaultdict(list)
        for path, recording in pieces:
            if recording.restarts_at is not None:
                parts = defaultdict(list, {n: [_before(s, recording.restarts_at) for s in p] for n, p in parts.items()})
            for series in _without_copies(list(on_axis(recording, dialect, notes))):
                name = _prefixed(series.raw, path, base)
                parts[name].append(replace(series, name=name, raw=name, source=_relative(path, base)))
        yield from map(merge_restarts, parts.values())


def _events(
    recordings: list[tuple[Path, Recording]], raw: list[Series], base: Path, dialect: ModuleType
) -> Iterator[Event]:
    """What happened, on the steps of the run: the lines of text, and where a later file of events goes on."""
    began: dict[Path, float] = {}
    stepped = any(s.axis not in (SECONDS, "row") for s in raw)
    for path, recording in sorted(recordings, key=lambda piece: (piece[1].order, _natural(piece[0]))):
        source = _relative(path, base)
        own = [s for s in raw if s.source == source and len(s) and not (stepped and s.axis == "row")]
        longest = max(own, key=len, default=None)
        rows = recording.curves[longest.raw].index if longest is not None and longest.raw in recording.curves else None
        if recording.events and longest is not None and rows is not None and len(rows) > len(longest):  # a restart
            longest = next(s for s in on_axis(recording, dialect, []) if s.raw == longest.raw)
        for index, event in recording.events:
            step = None
            if longest is not None and rows is not None and len(rows) == len(longest):
                step = _before_line(rows, longest.steps, index)
            yield replace(event, step=step, source=source)
        first = min((float(curve.index[0]) for curve in recording.curves.values() if len(curve.index)), default=None)
        if recording.format == "tensorboard" and first is not None:
            if path.parent in began and first > began[path.parent]:
                at = float(np.nextafter(first, -np.inf))
                yield Event(kind=Happened.RESUMED, text=f"{source} goes on", step=at, source=source)
            began.setdefault(path.parent, first)


def _before_line(rows: np.ndarray, steps: np.ndarray, index: float) -> float:
    """The step of what was logged last before the line; where the next one is done again, just below that."""
    here = (rows[:-1] == index) | ((rows[:-1] < index) & (rows[1:] > index))
    back = np.flatnonzero((np.diff(steps) <= 0) & here)
    if len(back):
        return float(np.nextafter(steps[back[0] + 1], -np.inf))
    return float(steps[max(int(np.searchsorted(rows, index, side="right")) - 1, 0)])


def _machine_on_steps(raw: list[Series], notes: list[str]) -> list[Series]:
    """The curves, readings of the machine on the steps of the run: by the clock of both, else spread over all of its steps."""
    readings = [s for s in raw if s.axis == SECONDS and len(s)]
    logged = [s for s in raw if s.axis not in (SECONDS, "row", "epoch") and len(s)]
    if not readings or not logged:
        return raw
    longest = max(logged, key=len)
    first, last = float(longest.steps[0]), float(longest.steps[-1])
    moved = {}
    for source in dict.fromkeys(s.source for s in readings):
        own = [s for s in readings if s.source == source]
        begin, end = min(float(s.steps[0]) for s in own), max(float(s.steps[-1]) for s in own)
        clock = next((s for s in logged if s.raw in CLOCKS and s.values[0] < end and s.values[-1] > begin), None)
        if clock is None:
            notes.append(f"{source}: its readings are spread over the steps of the run, whose log tells no time")
        for s in own:
            if clock is not None:
                kept = s.between(float(clock.values[0]), float(clock.values[-1]))
                steps = np.interp(kept.steps, clock.values, clock.steps)
                moved[id(s)] = replace(kept, steps=steps, axis=clock.axis)
            else:
                steps = first + (s.steps - begin) / max(end - begin, 1e-9) * (last - first)
                moved[id(s)] = replace(s, steps=steps, axis=longest.axis)
    return [moved.get(id(s), s) for s in raw]


def _in_range(series: Series, notes: list[str]) -> Series:
    """The curve with numbers that can be computed with: larger values are infinite, smaller ones 0, and larger steps left out."""
    steps, values, size = series.steps, series.values, np.abs(series.values)
    placed, over, under = (
        np.abs(steps) < LARGEST,
        np.isfinite(values) & (size >= LARGEST),
        (size < 1 / LARGEST) & (size > 0),
    )
    if placed.all() and not over.any() and not under.any():
        return series
    for count, said in ((over.sum(), "count as infinite"), (under.sum(), "count as 0")):
        notes += [f"{series.raw}: {count} values beyond {LARGEST:g} in size, or its inverse, {said}"] if count else []
    notes += [f"{series.raw}: {(~placed).sum()} points left out, whose step is no count"] if not placed.all() else []
    values = np.where(over, np.copysign(np.inf, values), np.where(under, 0.0, values))
    return replace(series, steps=steps[placed], values=values[placed])


def _natural(path: Path) -> list[tuple[int, str]]:
    """A sort key in which file 9 comes before file 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", str(path)) if part]


def _before(series: Series, step: float) -> Series:
    """What a later file, written after a restart at `step`, leaves of an earlier one."""
    keep = series.steps < step
    return replace(series, steps=series.steps[keep], values=series.values[keep])


def _prefixed(name: str, path: Path, base: Path) -> str:
    """`loss` of eval/events... or `mean_return` of evaluations.csv is `eval/loss`, `eval/mean_return`: only the place says it."""
    folder = _relative(path.parent, base).split(os.sep)[-1].lower()
    held_out = folder in EVALUATION_FOLDERS and "tfevents" in path.name
    return _columns.on_split(name, "eval/") if held_out or EVALUATION_TABLE.match(path.name) else name


def on_axis(recording: Recording, dialect: ModuleType, notes: list[str]) -> Iterator[Series]:
    """The recording's curves with steps; a table's steps are read off its axis column."""
    if recording.indexed_by == "step":
        kind = dialects.axis_kind(recording.axis, dialect)
        for name, curve in recording.curves.items():
            yield Series(name=name, raw=name, steps=curve.index, values=curve.values, axis=kind)
        return
    all_rows = max((curve.index for curve in recording.curves.values()), key=len, default=np.empty(0))
    axes = [name for name in _axes(recording, dialect) if _may_be_axis(recording.curves[name], all_rows)]
    rising = [name for name in axes if _rises(recording.curves[name].values)]
    counted = [len(recording.curves[name].values) for name in rising if dialects.axis_kind(name, dialect) != "epoch"]
    # one that only some lines have, as the updates of an evaluation, is not that of the others
    axis = next((n for n in rising if len(recording.curves[n].values) >= SOME_ROWS * max(counted, default=0)), None)
    if axis is None and (axis := next((name for name in axes if _all_differ(recording.curves[name].values)), None)):
        recording = _in_order(recording, recording.curves[axis])
    if axis is None:
        for name, curve in recording.curves.items():
            yield Series(name=name, raw=name, steps=curve.index, values=curve.values, axis="row")
        return
    recording, said, left = _stages.of_one_training(recording, axis, partial(_importance, dialect))
    notes += said
    recording.damage[:0] = [line for line in left if line not in recording.damage]
    rows, steps = recording.curves[axis].index, recording.curves[axis].values
    for name, curve in recording.curves.items():
        if curve.index is rows or np.array_equal(curve.index, rows):
            kind = dialects.axis_kind(axis, dialect)
            yield Series(name=name, raw=name, steps=steps, values=curve.values, axis=kind)
            continue
        # a row without its own step belongs to the one before
        at = np.searchsorted(rows, curve.index, side="right") - 1
        known = at >= 0
        if not known.any() and len(rows) <= MOST_ROWS_OF_A_STEP:  # a paste that begins in the middle of a block
            yield Series(name=name, raw=name, steps=curve.index, values=curve.values, axis="row")
        else:
            kind = dialects.axis_kind(axis, dialect)
            yield Series(name=name, raw=name, steps=steps[at[known]], values=curve.values[known], axis=kind)


def _axes(recording: Recording, dialect: ModuleType) -> Iterator[str]:
    """The columns that may be the axis, the best first: as the dialect writes them, or in another spelling."""
    known = dialects.axes(dialect)
    yield from (name for name in known if name in recording.curves)
    spelled = {_plain(name): name for name in reversed(recording.curves) if name not in known}
    yield from (spelled[plain] for plain in dict.fromkeys(map(_plain, known)) if plain in spelled)


def _plain(name: str) -> str:
    """`Total timesteps` is total_timesteps."""
    return re.sub(r"[\W_]+", "_", name.lower()).strip("_")


def _importance(dialect: ModuleType, names: Set[str]) -> int:
    """How much a training with these metrics is one that learns from rewards: 2, from preferences: 1, neither: 0."""
    signals = {meaning.signal for meaning in dialects.understand(sorted(names), dialect).values()}
    if any(signal.startswith(FROM_REWARDS) for signal in signals - {"reward.accuracy"}):
        return 2
    return int(any(signal.startswith("pref.") for signal in signals))


def _may_be_axis(curve: Curve, all_rows: np.ndarray) -> bool:
    """An axis is finite, and does not begin with a summary: the rows before it have no step, and would be lost.

    One step that was printed once, as in "[Step 3/6] Loading", is none of many rows.
    """
    if len(curve.values) == 1 and len(all_rows) > MOST_ROWS_OF_A_STEP:
        return False
    return bool(len(curve.values) and np.isfinite(curve.values).all() and np.mean(all_rows < curve.index[0]) <= 0.5)


def _rises(values: np.ndarray) -> bool:
    """An axis mostly rises; a column of one repeated value is none."""
    change = np.diff(values)
    return len(values) == 1 or bool((change >= 0).mean() > 0.9 and (change > 0).any())


def _all_differ(values: np.ndarray) -> bool:
    """Whether rows in any order can be put in that of their steps."""
    return len(np.unique(values)) == len(values)


def _in_order(recording: Recording, axis: Curve) -> Recording:
    """The recording with its rows in the order of their steps; a row without a step follows the one before."""
    place = np.argsort(np.argsort(axis.values))

    def ordered(curve: Curve) -> Curve:
        at = np.searchsorted(axis.index, curve.index, side="right") - 1
        rows = np.where(at >= 0, place[at], -1).astype(float)
        order = np.argsort(rows, kind="stable")
        times = None if curve.times is None else curve.times[order]
        return Curve(index=rows[order], values=curve.values[order], times=times)

    return replace(recording, curves={name: ordered(curve) for name, curve in recording.curves.items()})


def _without_copies(curves: list[Series]) -> list[Series]:
    """The curves of a file with each step once, where no value of a step differs from the one before it."""
    again = [np.diff(curve.steps, prepend=np.nan) == 0 for curve in curves]
    if not any(copy.any() for copy in again):
        return curves
    for curve, copy in zip(curves, again, strict=True):
        now, before = curve.values[1:][copy[1:]], curve.values[:-1][copy[1:]]
        if not np.array_equal(now, before, equal_nan=True):
            return curves
    return [
        replace(curve, steps=curve.steps[~copy], values=curve.values[~copy])
        for curve, copy in zip(curves, again, strict=True)
    ]


def merge_restarts(segments: list[Series]) -> Series:
    """Segments of one curve, earliest first, as one curve with non-decreasing steps (rule 2 above)."""
    pieces = [piece for segment in segments for piece in _split_where_step_goes_back(segment)]
    merged = pieces[0]
    for later in pieces[1:]:
        if not len(later):
            continue
        keep = merged.steps < later.steps[0]
        merged = replace(
            merged,
            steps=np.concatenate([merged.steps[keep], later.steps]),
            values=np.concatenate([merged.values[keep], later.values]),
        )
    return merged


def _split_where_step_goes_back(series: Series) -> list[Series]:
    cuts = np.flatnonzero(series.steps[1:] < series.steps[:-1]) + 1
    if not len(cuts):
        return [series]
    if not _stages.are_restarts(len(cuts), len(series)):  # several writers, or rows in another order
        order = np.argsort(series.steps, kind="stable")
        return [replace(series, steps=series.steps[order], values=series.values[order])]
    return [
        replace(series, steps=s, values=v)
        for s, v in zip(np.split(series.steps, cuts), np.split(series.values, cuts), strict=True)
    ]


# --- names -----------------------------------------------------------------------------------------------------------


MOST_SHOWN = 6  #: guesses that the note of a run spells out


def _read_by_meaning(understood: Iterable[Series]) -> list[str]:
    """What is said of names that no list holds."""
    guessed = [series for series in understood if series.guessed]
    if not guessed:
        return []
    shown = ", ".join(f"{series.raw} as {series.name}" for series in guessed[:MOST_SHOWN])
    more = (
        f" and {len(guessed) - MOST_SHOWN} more (`firstbreak inspect` lists them)" if len(guessed) > MOST_SHOWN else ""
    )
    remedy = "correct a wrong one in the table [names] of firstbreak.toml, or with --name NAME=SIGNAL"
    return [f"read by the meaning of their words: {shown}{more}; {remedy}"]


def _translate(
    raw: list[Series], meanings: Mapping[str, Name], rounded: Set[str], *, own: bool
) -> tuple[dict[str, Series], dict[str, Series], tuple[Series, ...]]:
    """Canonical signals, raw names that were not understood, and further copies of signals that are already there.

    `rounded`: files whose numbers were written for a screen. `own`: where two names of one file that mean the same hold other
    numbers, the one that is not chosen is listed as not understood; a dialect knows what it calls alike.
    """
    understood: dict[str, list[Series]] = defaultdict(list)
    strange: dict[str, list[Series]] = defaultdict(list)
    for series in raw:
        name = meanings.get(series.raw)
        if name is None:
            strange[series.raw].append(series)
        else:
            values = series.values if name.scale == 1.0 else series.values * name.scale
            guessed = name.origin is Origin.WORDS
            understood[name.signal].append(
                replace(series, name=name.signal, values=values, note=name.note, guessed=guessed)
            )

    def rank(copy: Series) -> tuple[int, int, int, bool, bool]:
        origin = meanings[copy.raw].origin if copy.raw in meanings else Origin.WORDS
        return origin, _axis_rank(copy), len(copy), copy.source not in rounded, "score" not in copy.raw.lower()

    best = partial(max, key=rank)
    chosen: dict[str, Series] = {signal: best(copies) for signal, copies in understood.items()}
    finest = max(map(_axis_rank, chosen.values()), default=0)
    # against an epoch or a row, a counter counts itself
    chosen = {s: c for s, c in chosen.items() if not s.startswith("progress.") or _axis_rank(c) == finest}
    again = [s for copies in understood.values() for s in copies if s is not chosen.get(s.name)]
    said = {name.signal for name in meanings.values() if name.origin is Origin.USER}
    others = [own and s.name not in said and s.raw not in strange and _differs(s, chosen.get(s.name)) for s in again]
    duplicates = tuple(s for s, other in zip(again, others, strict=True) if not other)
    for s in compress(again, others):
        strange[s.raw].append(replace(s, name=s.raw, values=s.values / meanings[s.raw].scale, note="", guessed=False))
    on_steps = _steps_of_copies(understood, chosen)
    unknown = {name: on_steps(best(copies)) for name, copies in strange.items()}
    return {signal: on_steps(series) for signal, series in chosen.items()}, unknown, duplicates


def _without_counts_of_something_else(raw: Iterable[Series], understood: Mapping[str, Name]) -> dict[str, Name]:
    """The names without those of counts that fall again and again: of one iteration, or of one evaluation.

    `steps` that fall beside the number of the episode are the length of the episode, and a time that falls is no time since
    the start.
    """
    counted = {name for name, meaning in understood.items() if meaning.signal in COUNTS | {STEPS, ELAPSED}}
    fall = {s.raw: s.axis for s in raw if s.raw in counted and len(s) >= ROWS_OF_A_CLOCK and not _rises(s.values)}
    rise = {m.signal for n, m in understood.items() if n not in fall}
    beside = {"episode", "step", "env_steps"} if {STEPS, "progress.episodes"} <= rise else {"episode"}
    lengths = [n for n, axis in fall.items() if axis in beside and _STEPS.fullmatch(n)]
    kept = {n: m for n, m in understood.items() if n not in fall or (m.signal == STEPS and fall[n] not in COUNTED)}
    times = [name for name in fall if understood[name].signal == ELAPSED]
    kept |= {name: replace(understood[name], signal="time.step") for name in times}
    return kept | {name: replace(understood[name], signal="episode.length") for name in lengths}


def _without_repetitions(series: Mapping[str, Series], notes: list[str]) -> dict[str, Series]:
    """The curves, those of scores with one point for each measurement."""
    kept = dict(series)
    clocks = [curve for signal, curve in series.items() if signal.startswith(CLOCK)]
    copies = 0
    for signal, curve in series.items():
        if signal.startswith("eval.") and (once := _repeats.by_the_clock(curve, clocks))[1]:
            kept[signal], copies = once
        elif signal.startswith(MEASURED):
            kept[signal], every = _repeats.thinned(curve)
            if every > 1:
                notes.append(f"{curve.raw} repeats each value {every} times: one point of each measurement is kept")
    if copies:
        notes.append(
            f"{copies} rows repeat the evaluation of the row before, with the time that it took: they are left out"
        )
    return kept


def _axis_rank(series: Series) -> int:
    """How much an axis is worth: an epoch is rounded, and a row says nothing of when."""
    return {"row": 0, "epoch": 1}.get(series.axis, 2)


def _steps_of_copies(
    understood: Mapping[str, list[Series]], chosen: Mapping[str, Series]
) -> Callable[[Series], Series]:
    """What moves a curve of a file with a lesser axis onto steps, where it shares a curve with a file that has them.

    The same numbers in the same order were measured at the same steps.
    """
    steps: dict[str, tuple[Series, Series]] = {}  #: file -> its copy of a curve, the same curve on steps
    for signal, copies in understood.items():
        for copy in copies:
            if copy.source not in steps and _same_numbers(copy, chosen.get(signal, copy)):
                steps[copy.source] = copy, chosen[signal]

    def on_steps(series: Series) -> Series:
        pair = steps.get(series.source)
        if pair is None or series.axis != pair[0].axis:
            return series
        places, first = np.unique(pair[0].steps, return_index=True)
        return replace(series, steps=np.interp(series.steps, places, pair[1].steps[first]), axis=pair[1].axis)

    return on_steps


def _differs(series: Series, chosen: Series | None) -> bool:
    """Whether a curve is no copy of the chosen one of its signal, but another measurement of the same file."""
    if chosen is None or series.source != chosen.source or series.name.startswith("progress."):
        return False
    return len(series) != len(chosen) or not np.allclose(series.values, chosen.values, rtol=ROUNDING, equal_nan=True)


def _same_numbers(copy: Series, other: Series) -> bool:
    """Whether a curve on a lesser axis is another one, rounded."""
    if _axis_rank(copy) >= _axis_rank(other) or len(copy) != len(other) or len(copy) < ALIKE_POINTS:
        return False
    size = np.ptp(other.finite.values) if len(other.finite) else 0.0
    near = np.isclose(copy.values, other.values, rtol=ROUNDING, atol=ROUNDING * size, equal_nan=True)
    return bool(near.mean() >= 0.9 and len(np.unique(other.values)) > len(other) // 2)
