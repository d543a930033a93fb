"""The saved models of a run, known by their names and markers. No weights are read."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from firstbreak.model import Checkpoint, Run
from firstbreak.patterns import pattern
from firstbreak.readers import Unreadable
from firstbreak.readers.opening import beneath, read_whole
from firstbreak.values import replace

NUMBERED = pattern(r"(?:checkpoint|global_step|step|iter(?:ation)?|rl_model)[-_]?0*(\d+)(?:_steps)?(?:\.\w+)?$")
#: CheckpointCallback of Stable-Baselines3 with a prefix of its own, and rsl_rl
NUMBERED_FILE = pattern(r"(?:[\w-]+?_0*(\d+)_steps\.zip|model_0*(\d+)\.pt)$")
MODELS = (".zip", ".pt", ".pth", ".safetensors", ".ckpt", ".cleanrl_model")
#: what Orbax leaves in a finished `100/` or in its items `100/default/`, by age of the version
ORBAX = ("_CHECKPOINT_METADATA", "commit_success.txt", "*/_METADATA", "*/manifest.ocdbt", "*/checkpoint")
#: below the run: verl and trainers like it save in `checkpoints/PROJECT/EXPERIMENT/global_step_100`
DEPTH = 4
RLLIB = "rllib_checkpoint.json"
STATES = ("algorithm_state.pkl", "algorithm_state.pickle")
MAX_STATE = 64 << 20  #: bytes; larger states are not searched
#: a pickle's name with the whole number of 1, 2 or 4 bytes that follows; it is searched, and never loaded
_ITERATION = re.compile(rb"training_iteration\x94(?:K(.)|M(..)|J(....))", re.DOTALL)


def checkpoints_in(folder: Path) -> tuple[Checkpoint, ...]:
    """Saved models with a number, by that number: `checkpoint-500`, `rl_model_20000_steps.zip`, Orbax's `checkpoints/500`.

    A checkpoint is one thing: nothing inside of it is looked at.
    """
    found: list[Checkpoint] = []
    for parent, subfolders, files in _walk(folder):
        places = [parent / name for name in subfolders]
        numbers = {p: n for p in places if (n := _number_of_folder(p)) is not None}
        subfolders[:] = [p.name for p in places if p not in numbers]
        models = (parent / f for f in files if f.endswith(MODELS))
        numbers |= {p: n for p in models if (n := _number_of_file(p.name)) is not None}
        found += [Checkpoint(step=n, path=p.relative_to(folder).as_posix()) for p, n in numbers.items()]
    return tuple(sorted(found, key=lambda c: (c.step, c.path)))


def on_the_axis(found: Sequence[Checkpoint], run: Run) -> tuple[Checkpoint, ...]:
    """The checkpoints in the folder of a run, with RLlib's on the run's axis.

    Tune counts its folders (`checkpoint_000003` is the fourth), so the iteration comes from the state in the folder; before
    Ray 2.7 it was the number of the folder.
    """
    iterations = run.series.get("progress.iterations")
    placed = []
    for saved in found:
        place = Path(run.path) / saved.path
        if (place / RLLIB).is_file():
            step: float = iteration_of(place) or saved.step
            if iterations is not None and len(iterations) and iterations.axis == run.axis:
                step = float(np.interp(step, iterations.values, iterations.steps))
            saved = replace(saved, step=step)
        placed.append(saved)
    return tuple(sorted(placed, key=lambda c: (c.step, c.path)))


def named(folder: Path, names: re.Pattern[str]) -> Checkpoint | None:
    """A saved model with a name instead of a number: the one nearest to the top. Its step is not known (NaN)."""
    found: list[Path] = []
    for parent, subfolders, files in _walk(folder):
        found += [parent / name for name in (*subfolders, *files) if names.fullmatch(name)]
        subfolders[:] = [name for name in subfolders if _number_of_folder(parent / name) is None]
    nearest = min(found, key=lambda p: (len(p.parts), p.is_dir(), p.name), default=None)
    return None if nearest is None else Checkpoint(step=float("nan"), path=nearest.relative_to(folder).as_posix())


def only_model(folder: Path, besides: re.Pattern[str]) -> Checkpoint | None:
    """The model of a run that saved one, under a name of the user's own (`model.save("ppo_cartpole")`)."""
    there = [p for p in sorted(folder.iterdir()) if p.is_file() and p.name.endswith(MODELS)]
    mine = [p for p in there if not besides.fullmatch(p.name)]
    return Checkpoint(step=float("nan"), path=mine[0].name) if len(mine) == 1 else None


def iteration_of(checkpoint: Path) -> int | None:
    """The training iteration in the state of an RLlib checkpoint, or None where no state tells it."""
    for name in STATES:
        try:
            with beneath(checkpoint):
                state = read_whole(checkpoint / name, MAX_STATE)
        except (Unreadable, OSError):
            continue
        if found := _ITERATION.search(state):
            return int.from_bytes(next(g for g in found.groups() if g is not None), "little")
    return None


def _walk(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    for parent, subfolders, files in os.walk(folder):
        subfolders.sort()
        if len(Path(parent).relative_to(folder).parts) >= DEPTH:
            subfolders.clear()
        yield Path(parent), subfolders, sorted(files)


def _number_of_folder(place: Path) -> float | None:
    if match := NUMBERED.match(place.name):
        return float(match[1])
    if place.name.isdecimal() and not place.is_symlink() and any(next(place.glob(mark), None) for mark in ORBAX):
        return float(place.name)
    return None


def _number_of_file(name: str) -> float | None:
    if match := NUMBERED.match(name) or NUMBERED_FILE.match(name):
        return float(next(group for group in match.groups() if group))
    return None
