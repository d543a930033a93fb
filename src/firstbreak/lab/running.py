"""One run of the lab: plant, train, and write down the truth beside what a user would see."""

from __future__ import annotations

import importlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firstbreak.lab.bases import BASES
from firstbreak.lab.memory import peak_gigabytes
from firstbreak.lab.plants import catalogue

#: options that a fault scales in mid-run, and does not set: it scales what the user says as well
SCALED = frozenset({"lr"})


@dataclass(frozen=True, kw_only=True)
class Label:
    """The truth about a run. It lies beside the run's folder, never in it."""

    plant: str  #: id of the fault or healthy variant
    base: str
    seed: int
    severity: float
    link: str | None  #: None: healthy
    cause: str | None
    onset: int | None  #: first affected step, in steps of the run's log
    steps: int
    score: float  #: true score of the final policy: accuracy or return, measured apart from the log
    reported: float  #: the run's own last evaluation
    seconds: float  #: wall clock
    cpu_seconds: float
    peak_gb: float  #: most memory that the process has held


def run(
    name: str,
    *,
    out: Path,
    seed: int = 0,
    severity: float | None = None,
    base: str | None = None,
    options: Mapping[str, Any] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> Path:
    """Train once with a fault (or healthy variant) planted; `out` then holds the folder `run` and `label.json`.

    `base` is the first that the plant knows, `severity` its largest there, unless given. `options` are fields of the
    base's settings that are set before the fault is planted (a shorter run, a smaller batch). `overrides` are what a user
    would say on the command line, `hyperparameters.gamma` for a key of a setting: a fault that scales an option scales
    theirs, and one that is a wrong option in the open gives way. Returns the folder `run`.
    Raises ValueError where the plant, the base or an option is not known.
    """
    plants = catalogue()
    if name not in plants:
        raise ValueError(f"no fault or healthy variant is called {name!r}; `firstbreak lab list` shows them")
    plant = plants[name]
    base = base or next(iter(plant.bases))
    if base not in plant.bases:
        raise ValueError(f"{name} is not made for {base!r}; it is for {', '.join(plant.bases)}")
    severity = plant.bases[base][-1] if severity is None else severity
    settings = BASES[base]()
    vars(settings).update(options or {})
    settings.seed = seed
    _override(settings, overrides or {})
    onset = max(1, round(plant.onset * settings.steps))
    plant.inject(settings, severity, onset)
    hidden = getattr(settings, "recorded", {})  # the fault is not what the config says
    _override(settings, {k: v for k, v in (overrides or {}).items() if k.rpartition(".")[2] not in hidden})

    train = importlib.import_module(f"firstbreak.lab.{base.partition('/')[0]}.trainer").train
    wall, cpu = time.perf_counter(), time.process_time()
    score = train(settings, out / "run")
    label = Label(
        plant=name,
        base=base,
        seed=seed,
        severity=severity,
        link=plant.link,
        cause=plant.cause,
        onset=None if plant.healthy else onset,
        steps=settings.steps,
        score=round(score.true, 4),
        reported=round(score.reported, 4),
        seconds=round(time.perf_counter() - wall, 2),
        cpu_seconds=round(time.process_time() - cpu, 2),
        peak_gb=round(peak_gigabytes(), 3),
    )
    (out / "label.json").write_text(json.dumps(asdict(label), indent=1) + "\n")
    return out / "run"


def _override(settings: Any, overrides: Mapping[str, Any]) -> None:
    for name, value in overrides.items():
        owner, _, key = name.rpartition(".")
        held = getattr(settings, owner, None) if owner else vars(settings)
        if not isinstance(held, dict) or (not owner and key not in held):
            raise ValueError(f"{type(settings).__module__} has no setting {name!r}")
        held[key] = value
    for change in getattr(settings, "changes", {}).values():
        for name in change.keys() & overrides.keys() - SCALED:
            del change[name]


def read_label(folder: Path) -> Label:
    """The label of a run that `run` has made in `folder`."""
    return Label(**json.loads((folder / "label.json").read_text()))
