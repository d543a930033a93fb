"""Aim repositories (`.aim`), through Aim's own package; `.aim#run` is one of their runs.

A run is a RocksDB database of facts and one of points, with keys of Aim's own encoding. Even to read them, Aim locks them
and rewrites their write-ahead logs, so a copy of the run is read, and the repository stays as it is.
"""

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._columns import CONFIG_NAMES
from firstbreak.readers._options import flat
from firstbreak.readers._sqlite import choose, database, labels
from firstbreak.readers.budget import NAME, POINT, spend
from firstbreak.readers.opening import open_raw

DESCRIPTION = "Aim repository (.aim), read by Aim's own package; without it named, to be exported"
FILES = (".aim",)

_PARTS = ("meta", "seqs")
_OWN = "__"  #: what Aim records of its own accord: packages, arguments, the shell's variables
_MAX_BYTES = 1 << 31  # of one run; a copy must fit the disk for temporary files
_TRIES = 5
_EXPORT = "pandas.concat(m.dataframe() for m in run.metrics()).to_csv('run.csv')"


def sniff(path: Path, head: bytes) -> bool:
    """No single file is a run."""
    return False


def claims(folder: Path) -> bool:
    """Aim's folder, with its databases of parameters and of metrics."""
    folder, _ = _split(folder)
    return folder.name == ".aim" and all((folder / part).is_dir() for part in _PARTS)


def runs(path: Path) -> list[str]:
    """The runs that are not archived, as `read(Path(".aim#run"))` takes them."""
    return list(labels({run: name for run, (name, _) in _listed(_split(path)[0]).items()}).values())


def read(path: Path, resume: Any = None) -> Recording:
    """One run, whole each time; nothing where no file of it has changed since."""
    folder, wanted = _split(path)
    listed = _listed(folder)
    run = choose(folder, wanted, {run: name for run, (name, _) in listed.items()})
    try:
        files = _stated(folder, run)
        if resume == files:
            return Recording(format="aim", indexed_by="step", resume=files)
        if sum(size for _, size, _ in files) > _MAX_BYTES:
            raise Unreadable(path, f"a run of more than {_MAX_BYTES >> 30} GiB", f"export it with Aim: {_EXPORT}")
        with _copied(folder, run) as copy:
            recording = _recording(path, copy, run)
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error), "try again when its writer is done") from None
    recording.order = listed[run][1]
    recording.resume, recording.replaces = files, resume is not None
    if (folder / "meta" / "progress" / run).exists():
        recording.notes.append("the run is still going on, or was killed")
    return recording


def _split(path: Path) -> tuple[Path, str | None]:
    """`.aim#name` as the folder and the name of one of its runs; None where no run is named."""
    before, mark, run = str(path).partition(".aim#")
    return (Path(f"{before}.aim"), run) if mark and not path.exists() else (path, None)


def _listed(folder: Path) -> dict[str, tuple[str, float]]:
    """(name, unix time of creation) by hash; only what lies there, because a hash becomes part of a path."""
    stored = {chunk.name for chunk in (folder / "meta" / "chunks").glob("*")}
    with database(folder / "run_metadata.sqlite", "run") as db:
        query = """SELECT hash, CAST(coalesce(name, '') AS TEXT), CAST(strftime('%s', created_at) AS REAL) FROM run
                   WHERE NOT coalesce(is_archived, 0) ORDER BY created_at"""
        return {run: (name, created or 0.0) for run, name, created in db.execute(query) if run in stored}


def _files(folder: Path, run: str) -> list[Path]:
    """The files of both databases; links are none of Aim's."""
    chunks = [folder / part / "chunks" / run for part in _PARTS]
    files = (file for chunk in chunks for file in chunk.glob("*") if file.name != "LOG")
    return sorted(file for file in files if file.is_file() and not file.is_symlink())


def _stated(folder: Path, run: str) -> list[tuple[str, int, int]]:
    """Each file's path, bytes and time of its last change, in nanoseconds."""
    return [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in _files(folder, run)]


@contextmanager
def _copied(folder: Path, run: str) -> Iterator[Path]:
    """A folder that holds the run's files as they were at one moment: RocksDB replaces files while its writer lives.

    The last try takes a run whose files grow all the time: then only their names must have stayed.
    """
    with tempfile.TemporaryDirectory(prefix="firstbreak-") as scratch:
        for attempt in range(_TRIES):
            copy = Path(tempfile.mkdtemp(dir=scratch))
            files = _files(folder, run)
            try:
                before = _stated(folder, run)
                for file in files:
                    target = copy / ".aim" / file.relative_to(folder)
                    target.parent.mkdir(parents=True, exist_ok=True)
                    with open_raw(file) as source, target.open("wb") as written:
                        shutil.copyfileobj(source, written)
                after = _stated(folder, run)
            except (Unreadable, FileNotFoundError):
                if all(file.exists() for file in files):
                    raise
                continue
            if before == after or (attempt == _TRIES - 1 and files == _files(folder, run)):
                yield copy
                return
        raise Unreadable(folder, "is being rewritten", "try again when its writer is done")


def _recording(path: Path, copy: Path, run: str) -> Recording:
    try:
        from aim.sdk.repo import Repo
        from aim.sdk.run import Run
        from aim.sdk.sequences.metric import Metric
    except ImportError:
        remedy = f"install it (pip install aim), or export a run with it: {_EXPORT}"
        raise Unreadable(path, "is an Aim repository, which only Aim can decode", remedy) from None
    recording = Recording(format="aim", indexed_by="step")
    try:
        recorded = Run(run, repo=Repo(str(copy)), read_only=True)
        recording.config = _config(recorded[...])
        metrics = list(recorded.iter_metrics_info())
        texts = sorted(name for name, _, _ in recorded.iter_sequence_info_by_type("aim.text"))
    except Exception as error:  # of RocksDB, or of Aim itself: whatever it makes of damaged files
        raise Unreadable(path, f"Aim cannot read it ({_one_line(error)})", "copy the repository again") from None
    for name, context, _ in metrics:
        raw = _name(name, context.to_dict())
        try:
            steps, (values, times) = Metric(name, context, recorded).data.view(("val", "time")).numpy()
        except Exception as error:
            recording.damage.append(f"{raw}: Aim cannot read it ({_one_line(error)}); copy the repository again")
        else:
            spend(NAME + (POINT + 8) * len(values))
            recording.curves[raw] = Curve(index=steps.astype(float), values=values, times=times)
    if texts:
        recording.notes.append(f"texts, left out: {', '.join(texts)}")
    return recording


def _one_line(error: Exception) -> str:
    return " ".join(f"{type(error).__name__}: {error}".split())[:200]


def _config(facts: Mapping[str, Any]) -> dict[str, Any]:
    """Options under their own names where their object is called `hparams` or the like."""
    config = flat({name: value for name, value in facts.items() if not name.startswith(_OWN)})
    return {
        (key.partition(".")[2] if key.partition(".")[0].lower() in CONFIG_NAMES and "." in key else key): value
        for key, value in config.items()
    }


def _name(name: str, context: Mapping[str, Any]) -> str:
    """`loss` in the context {"subset": "val", "gpu": 0} is `val/loss[gpu=0]`."""
    subset = f"{context['subset']}/" if "subset" in context else ""
    others = ",".join(f"{key}={value}" for key, value in context.items() if key != "subset")
    return f"{subset}{name}[{others}]" if others else f"{subset}{name}"
