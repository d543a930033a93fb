"""One run of the lab: inject a fault, train, and write a label with the true answer beside the run's logs."""

import importlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from firstbreak_lab.bases import BASES
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.memory import peak_gigabytes

#: options that a fault multiplies during the run. The fault also multiplies the value that a user gives
SCALED = frozenset({"lr"})


@dataclass(frozen=True, kw_only=True)
class Label:
    """What is true about a run. The label is stored beside the run's folder, never inside the folder."""

    variant: str  #: id of the fault or healthy variant
    base: str
    seed: int
    severity: float
    link: str | None  #: None: healthy
    cause: str | None
    onset: int | None  #: first affected step, in steps of the run's log
    steps: int
    score: float  #: true score of the final policy: accuracy or return, measured outside of the run
    reported: float  #: the run's own last evaluation
    seconds: float  #: wall clock
    cpu_seconds: float
    peak_gb: float  #: largest memory that the process has used


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
    """Train once with a fault (or healthy variant). Writes the folder `run` and `label.json` into `out`.

    The default of `base` is the variant's first base, the default of `severity` is the largest one in this base.
    `options` are fields of the base's settings that are set before the fault is injected (a shorter run, a smaller batch).
    `overrides` are options that a user would give on the command line, for example `hyperparameters.gamma`. A fault that
    multiplies an option also multiplies the override. A fault that is a wrong option is replaced by the override.
    Returns the folder `run`. Raises ValueError if the variant, the base or an option does not exist.
    """
    variants = catalogue()
    if name not in variants:
        raise ValueError(f"there is no fault or healthy variant {name!r}; `firstbreak lab list` shows all of them")
    variant = variants[name]
    base = base or next(iter(variant.bases))
    if base not in variant.bases:
        raise ValueError(f"{name} does not exist for the base {base!r}; its bases are {', '.join(variant.bases)}")
    severity = variant.bases[base][-1] if severity is None else severity
    settings = BASES[base]()
    vars(settings).update(options or {})
    settings.seed = seed
    _override(settings, overrides or {})
    onset = max(1, round(variant.onset * settings.steps))
    variant.inject(settings, severity, onset)
    hidden = getattr(settings, "recorded", {})  # the config does not show the fault
    _override(settings, {k: v for k, v in (overrides or {}).items() if k.rpartition(".")[2] not in hidden})

    train = importlib.import_module(f"firstbreak_lab.{base.partition('/')[0]}.trainer").train
    wall, cpu = time.perf_counter(), time.process_time()
    score = train(settings, out / "run")
    label = Label(
        variant=name,
        base=base,
        seed=seed,
        severity=severity,
        link=variant.link,
        cause=variant.cause,
        onset=None if variant.healthy else onset,
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
    return label_from(json.loads((folder / "label.json").read_text()))


def label_from(stored: Mapping[str, Any]) -> Label:
    """The label from its JSON. Runs that were recorded before the key was renamed have `plant` instead of `variant`."""
    return Label(**{"variant" if key == "plant" else key: value for key, value in stored.items()})
