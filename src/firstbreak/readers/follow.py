"""A run that is still being written: read only the data that was appended since the last update."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.model import EMPTY, Checkpoint, Run, Samples
from firstbreak.readers import Curve, Recording, Unreadable, budget
from firstbreak.readers.names import Names
from firstbreak.readers.opening import beneath, roots_of
from firstbreak.readers.read import assemble, existing, failure, files
from firstbreak.values import replace


class Follower:
    """Follows the files below a path. `update()` reads on, `run()` is the run as far as it was read.

    Files that appear later join in, files that are deleted drop out, and a file that was rewritten replaces what was
    read of it. A file that cannot be read at one moment (it is being rewritten) is tried again at the next and keeps
    what was known of it.
    """

    def __init__(self, path: str | os.PathLike[str], *, trainer: str | None = None, named: Names = EMPTY) -> None:
        self.path, self.trainer, self.named = path, trainer, named
        self._recordings: dict[Path, Recording] = {}
        self._readers: dict[Path, Any] = {}
        self._lost: dict[Path, str] = {}

    def update(self) -> bool:
        """Read on; whether anything is new. Raises `Unreadable` where the path itself cannot be opened."""
        news = self._forget_deleted()
        with beneath(*roots_of(existing(self.path))):
            return self._read_on() or news

    def _read_on(self) -> bool:
        news = False
        lost: dict[Path, str] = {}
        held = sum(map(budget.size_of, self._recordings.values()))
        for path, reader in files(existing(self.path)):
            known = self._recordings.get(path)
            own = budget.size_of(known) if known else 0
            same = self._readers.get(path) is reader  # a file of which more is known may be another reader's
            self._readers[path] = reader
            resume = known.resume if known and same else None
            try:
                if isinstance(reader, Unreadable):
                    raise reader
                with budget.of_file(held - own):
                    latest: Recording = reader.read(path, resume=resume)
            except Exception as error:  # a reader's own mistake must not end the watch
                lost[path] = failure(path, reader, error)
                continue
            anew = resume is None or latest.replaces
            news |= bool(latest.curves or latest.nulls) if not anew else known is None or not _alike(known, latest)
            self._recordings[path] = latest if anew or known is None else _appended(known, latest)
            held += budget.size_of(self._recordings[path]) - own
        news |= lost != self._lost
        self._lost = lost
        return news

    def _forget_deleted(self) -> bool:
        """Drops files that are there no more, such as those of a run that was started anew; whether there are any."""
        deleted = [path for path in self._recordings if "#" not in str(path) and not path.exists()]
        for path in deleted:
            del self._recordings[path]
        return bool(deleted)

    def run(self) -> Run:
        """The run so far. Raises `Unreadable` where nothing was readable yet."""
        place = existing(self.path)
        base = place if place.is_dir() else place.parent
        return assemble(self.path, place, base, list(self._recordings.items()), self._lost, self.trainer, self.named)


def _alike(known: Recording, latest: Recording) -> bool:
    """Whether a file that is always read whole holds what it held."""
    return (
        known.curves.keys() == latest.curves.keys()
        and all(
            np.array_equal(getattr(curve, of), getattr(latest.curves[name], of), equal_nan=True)
            for name, curve in known.curves.items()
            for of in ("index", "values")
        )
        and (known.config, known.events, known.damage, known.has_samples)
        == (latest.config, latest.events, latest.damage, latest.has_samples)
    )


IN_MEMORY = "memory"  #: the format of a run that no file was read for


def assemble_in_memory(
    curves: Mapping[str, Curve],
    config: Mapping[str, Any],
    *,
    trainer: str | None = None,
    samples: Samples | None = None,
    checkpoints: tuple[Checkpoint, ...] = (),
    name: str = "live run",
) -> Run:
    """The run that a training loop holds in memory: the trainer's own names and options, as `read` would translate them.

    `Curve.index` is the step. Raises `Unreadable` where there is neither a curve nor an option, or no such trainer.
    """
    recording = Recording(format=IN_MEMORY, curves=dict(curves), indexed_by="step", config=dict(config))
    nowhere = Path(os.devnull)
    run = assemble(name, nowhere, nowhere.parent, [(nowhere, recording)], {}, trainer)
    return replace(run, samples=samples, checkpoints=checkpoints, files=())


def _appended(known: Recording, latest: Recording) -> Recording:
    """Both as one recording."""
    return replace(
        latest,
        curves=_joined(known.curves, latest.curves),
        nulls={
            name: np.concatenate([r.nulls[name] for r in (known, latest) if name in r.nulls])
            for name in {**known.nulls, **latest.nulls}
        },
        config={**known.config, **latest.config},
        has_samples=known.has_samples or latest.has_samples,
        damage=known.damage + latest.damage,
        unread=latest.unread,
        notes=list(dict.fromkeys(latest.notes or known.notes)),
        events=[(at, replace(e, last=e.last and not latest.curves)) for at, e in known.events] + latest.events,
        order=known.order,
        restarts_at=known.restarts_at,
    )


def _joined(known: Mapping[str, Curve], latest: Mapping[str, Curve]) -> dict[str, Curve]:
    joined = dict(known)
    for name, curve in latest.items():
        before = joined.get(name)
        joined[name] = curve if before is None else _one_curve(before, curve)
    return joined


def _one_curve(before: Curve, after: Curve) -> Curve:
    timed = before.times is not None and after.times is not None
    return Curve(
        index=np.concatenate([before.index, after.index]),
        values=np.concatenate([before.values, after.values]),
        times=np.concatenate([before.times, after.times]) if timed else None,
    )
