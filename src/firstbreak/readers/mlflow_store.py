"""MLflow's file store: one folder per run, `mlruns/<experiment>/<run>/`, with one text file per metric and option.

A line of `metrics/<name>` is `<milliseconds> <value> <step>`; before MLflow 1.0 the step was missing. A "/" in a name is a
subfolder.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import as_float
from firstbreak.readers._growing import GrowingFiles
from firstbreak.readers._options import value as option
from firstbreak.readers._points import Points
from firstbreak.readers.opening import read_whole

DESCRIPTION = "MLflow file store (mlruns/<experiment>/<run>)"
FILES = ("meta.yaml",)

_MAX_OPTION = 1 << 20  # bytes
_STATUS = {1: "RUNNING", 2: "SCHEDULED", 3: "FINISHED", 4: "FAILED", 5: "KILLED"}


def sniff(path: Path, head: bytes) -> bool:
    """No single file is a run."""
    return False


def claims(folder: Path) -> bool:
    """A run's folder; an experiment's has a meta.yaml too, but no metrics."""
    return (folder / "meta.yaml").is_file() and (folder / "metrics").is_dir()


def read(path: Path, resume: Any = None) -> Recording:
    """Every metric with its own steps, and the options."""
    if not claims(path):
        raise Unreadable(path, "is no MLflow run", "give the folder that holds meta.yaml and metrics/")
    metrics = GrowingFiles(dict(_files(path / "metrics")), resume)
    recording = Recording(format="mlflow_store", indexed_by="step")
    points = Points()
    for name in metrics.files:
        broken = 0
        for row, line in metrics.lines(name):
            try:
                time, value, *rest = map(float, line.split())
                (step,) = rest or (row,)
                points.add(name, step, value, time / 1e3)
            except ValueError:
                broken += 1
        if broken:
            recording.damage.append(
                f"metrics/{name}: left out {broken} lines that are no `time value step`; copy it again"
            )
    recording.curves = points.curves()
    for name, file in _files(path / "params"):
        try:
            recording.config[name] = option(read_whole(file, _MAX_OPTION).decode("utf-8", "replace"))
        except Unreadable as error:
            recording.damage.append(str(error))
    _take_meta(path / "meta.yaml", recording)
    return metrics.close(recording)


def _files(folder: Path) -> Iterator[tuple[str, Path]]:
    """(name, path) of every file below the folder; links to folders are not followed."""
    for parent, subfolders, files in os.walk(folder):
        subfolders.sort()
        for file in sorted(files):
            path = Path(parent, file)
            yield path.relative_to(folder).as_posix(), path


def _take_meta(file: Path, recording: Recording) -> None:
    from firstbreak.readers import config_file  # brings a reader of YAML

    try:
        meta = config_file.read(file).config
    except Unreadable as error:
        recording.damage.append(str(error))
        return
    started, status = meta.get("start_time"), meta.get("status")
    if isinstance(started, int):
        recording.order = as_float(started) / 1e3
    if status != 3 and status in _STATUS:
        recording.notes.append(f"MLflow's status of the run: {_STATUS[status]}")
