"""Draws runs: algorithm, trainer, task, settings, length, cadence, fault, severity and onset, all from one seed."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from firstbreak.model import Link, Run
from firstbreak.readers.read import read
from firstbreak_lab.drawn import HEALTHY, BrokenMechanism, DrawnLabel, Fault, Trained, learns, points, truth
from firstbreak_lab.micro import dpo, dqn, grpo, logs, ppo
from firstbreak_lab.micro.faults import faults

ALGORITHMS = MappingProxyType({"grpo": grpo, "ppo": ppo, "dqn": dqn, "dpo": dpo})
POINTS = 30  #: rows that a healthy log has at least


@dataclass(frozen=True, kw_only=True)
class MicroLabel(DrawnLabel):
    """What is true of a run of the micro-lab."""

    algorithm: str
    trainer: str


@dataclass(frozen=True)
class Draw:
    """One run before it is made."""

    seed: int
    algorithm: str
    trainer: str
    settings: Any
    task_seed: int  #: differs from `seed` where a draw was refused
    fault: Fault | None = None
    severity: float = 0.0
    onset: float = 0.0

    def train(self, fault: bool = True) -> tuple[logs.Log, Trained]:
        """The log of the run and what is true of it; without its fault, the healthy twin."""
        acts = fault and self.fault is not None
        broken = BrokenMechanism(
            self.fault.name if acts and self.fault else None, self.severity, self.onset, self.task_seed
        )
        extra = {} if self.algorithm in ("grpo", "dpo") else {"trainer": self.trainer}
        log, true = ALGORITHMS[self.algorithm].train(self.settings, self.task_seed, broken, **extra)
        return log, true


def drawn(
    seed: int, algorithm: str | None = None, fault: str | None = None, healthy: bool | None = None
) -> tuple[Draw, logs.Log, Trained]:
    """The draw of a seed, with the log of its healthy twin. A draw whose healthy run learns nothing is refused.

    `algorithm`, `fault` and `healthy` fix what is drawn at random without them.
    """
    rng = np.random.default_rng([seed, 17])
    for attempt in range(100):
        name = str(rng.choice(list(ALGORITHMS)))
        module = ALGORITHMS[name := algorithm or name]
        trainer = str(rng.choice(module.TRAINERS))
        draw = Draw(seed, name, trainer, module.draw(rng, points(rng)), seed * 100 + attempt)
        here = [each for each in faults().values() if name in each.where]
        chosen = here[int(rng.integers(len(here)))]
        none = rng.random() < HEALTHY
        log, true = draw.train()
        if not learns(true) or len(log.rows) < POINTS:
            continue
        if none if healthy is None else healthy:
            return draw, log, true
        chosen = faults()[fault] if fault else chosen
        severity, onset = chosen.drawn(rng)
        if chosen.link is not Link.EVALUATION or math.isfinite(true.reported):  # there is an evaluation to be broken
            return replace(draw, fault=chosen, severity=severity, onset=onset), log, true
    raise ValueError(f"seed {seed}: 100 draws in a row were refused")


def make(seed: int) -> tuple[logs.Log, MicroLabel]:
    """The log and the label of the run of a seed."""
    draw, log, twin = drawn(seed)
    return labelled(draw, log, twin)


def labelled(draw: Draw, twin_log: logs.Log, twin: Trained) -> tuple[logs.Log, MicroLabel]:
    """Make the run of a draw, with its label."""
    log, true = draw.train() if draw.fault else (twin_log, twin)
    label = MicroLabel(
        base=f"micro/{draw.algorithm}",
        seed=draw.seed,
        algorithm=draw.algorithm,
        trainer=draw.trainer,
        **truth(draw.fault, draw.severity, draw.onset, true, twin),
    )
    return log, label


def build(seed: int, out: Path) -> MicroLabel:
    """Write the run of a seed to the folder `run` in `out`, and then its label."""
    log, label = make(seed)
    logs.write(log.rows, label.trainer, out / "run")
    (out / "label.json").write_text(json.dumps(asdict(label), indent=1) + "\n")
    return label


def runs(first: int, n: int) -> Iterator[tuple[Run, MicroLabel]]:
    """The runs of `n` seeds from `first` on, each read from the files that its trainer would have written."""
    for seed in range(first, first + n):
        with tempfile.TemporaryDirectory() as scratch:
            label = build(seed, Path(scratch))
            yield read(Path(scratch) / "run"), label
