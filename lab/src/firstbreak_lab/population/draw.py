"""Draws the run of a seed, trains it and its healthy twin, and labels it."""

import importlib
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np

from firstbreak.model import Link
from firstbreak_lab.drawn import HEALTHY, BrokenMechanism, Trained, learns, points, truth
from firstbreak_lab.population.family import PopulationLabel, TrainerFamily, TrainerFault

#: seed % len -> family. The list stays as it is, also where a family is missing, so that a seed keeps its run
FAMILIES = (
    "sb3-ppo",
    "trl-grpo",
    "sb3-a2c",
    "trl-dpo",
    "sb3-dqn",
    "handwritten-grpo",
    "sb3-sac",
    "trl-rloo",
    "sb3-td3",
    "trl-grpo",
    "cleanrl-ppo",
    "trl-reward",
    "cleanrl-dqn",
    "handwritten-grpo",
    "handwritten-reinforce",
    "trl-rloo",
)
RLLIB = "rllib-ppo"
#: seeds from here on are runs of RLlib, of which few are made: starting Ray costs most of their time
FROM_RLLIB = 10_000
ATTEMPTS = 20  #: draws in a row whose healthy run learns nothing, until the seed is given up


@dataclass(frozen=True)
class DrawnRun:
    """One run before it is made."""

    seed: int
    family: TrainerFamily
    settings: Mapping[str, Any]
    task_seed: int  #: differs from `seed` where a draw was refused
    fault: TrainerFault | None = None
    severity: float = 0.0
    onset: float = 0.0

    def train(self, out: Path, *, fault: bool) -> Trained:
        """Train with the fault, or as the healthy twin, into the folder `out`."""
        name = self.fault.name if fault and self.fault else None
        out.mkdir(parents=True, exist_ok=True)
        broken = BrokenMechanism(name, self.severity, self.onset, self.task_seed)
        return self.family.train(self.settings, self.task_seed, broken, out)


def drawn(seed: int, attempt: int = 0) -> DrawnRun:
    """The run of a seed, without training it. Raises LookupError if its family is not installed."""
    name = family_of(seed)
    if (family := families().get(name)) is None:
        raise LookupError(f"seed {seed}: the family {name} is not installed")
    rng = np.random.default_rng([seed, attempt, 29])
    run = DrawnRun(seed, family, family.draw(rng, points(rng)), seed * 100 + attempt)
    if rng.random() < HEALTHY:
        return run
    here = [one for one in family.FAULTS.values() if not one.needs or run.settings[one.needs]]
    # First the link: a link with few faults is as frequent as one with many.
    links = [link for link in Link if any(one.link is link for one in here)]
    link = links[int(rng.integers(len(links)))]
    of_link = [one for one in here if one.link is link]
    chosen = of_link[int(rng.integers(len(of_link)))]
    severity, onset = chosen.drawn(rng)
    return replace(run, fault=chosen, severity=severity, onset=onset)


def family_of(seed: int) -> str:
    """The name of the family to which the run of a seed belongs."""
    return RLLIB if seed >= FROM_RLLIB else FAMILIES[seed % len(FAMILIES)]


def make(seed: int, out: Path) -> PopulationLabel:
    """Write the run of a seed to the folder `run` in `out`, and then its label.

    A draw whose healthy run learns nothing is drawn again. Raises ValueError after ATTEMPTS of them.
    """
    for attempt in range(ATTEMPTS):
        run = drawn(seed, attempt)
        with tempfile.TemporaryDirectory() as scratch:
            twin = run.train(Path(scratch) / "run", fault=False)
            if not learns(twin):
                continue
            shutil.rmtree(out, ignore_errors=True)
            out.mkdir(parents=True)
            if run.fault is None:
                shutil.move(Path(scratch) / "run", out / "run")
        true = run.train(out / "run", fault=True) if run.fault else twin
        label = labelled(run, true, twin)
        (out / "label.json").write_text(json.dumps(asdict(label), indent=1) + "\n")
        return label
    raise ValueError(f"seed {seed}: {ATTEMPTS} draws in a row were refused")


def labelled(run: DrawnRun, true: Trained, twin: Trained) -> PopulationLabel:
    """What is true of a run that was trained."""
    return PopulationLabel(
        base=f"{run.family.NAME}/{run.settings['task']}",
        seed=run.seed,
        family=run.family.NAME,
        settings=run.settings,
        start=round(twin.start, 4),
        best=round(twin.best, 4),
        **truth(run.fault, run.severity, run.onset, true, twin),
    )


@cache
def families() -> Mapping[str, TrainerFamily]:
    """The families that are there, and whose libraries are installed."""
    found = {}
    for name in dict.fromkeys((*FAMILIES, RLLIB)):
        try:
            module = importlib.import_module(f"firstbreak_lab.population.families.{name.replace('-', '_')}")
        except ModuleNotFoundError:
            continue
        found[name] = cast(TrainerFamily, module)
    return found
