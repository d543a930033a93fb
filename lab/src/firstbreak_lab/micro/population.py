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
from firstbreak_lab.micro import dpo, dqn, grpo, logs, ppo
from firstbreak_lab.micro.broken import BrokenMechanism, Trained
from firstbreak_lab.micro.faults import Fault, faults
from firstbreak_lab.running import Label

ALGORITHMS = MappingProxyType({"grpo": grpo, "ppo": ppo, "dqn": dqn, "dpo": dpo})
HEALTHY = 1 / 3  #: share of the runs without a fault
LEARNS = 0.1  #: share of the way to the best policy that a healthy run has to make, or it is drawn again
SOLVED = 0.9  #: where it begins so high, it need not rise
POINTS = 30  #: rows that a healthy log has at least
HARM = 0.05  #: share of the way from the first to the best policy. Where nothing but the learning rate is changed, by 0.1 %,
#: the scores of 0.6 % of 160 healthy draws differ by more; 97.5 % of them by less than a tenth of it


@dataclass(frozen=True, kw_only=True)
class MicroLabel(Label):
    """What is true of a run of the micro-lab, beside what every label of the lab says."""

    algorithm: str
    trainer: str
    accepted: tuple[str, ...]  #: links that count as right; empty for a healthy run
    harm: float  #: how much worse than the healthy twin; see `harm`
    harmful: bool  #: more than HARM
    twin: float  #: true score of the healthy twin


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
        draw = Draw(seed, name, trainer, module.draw(rng, _points(rng)), seed * 100 + attempt)
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


def _points(rng: np.random.Generator) -> int:
    """Rows of a log: mostly 30 to 160, some to 300, few to 2,000."""
    low, high = ((1.5, 2.2), (2.2, 2.5), (2.5, 3.3))[int(rng.choice(3, p=(0.9, 0.08, 0.02)))]
    return round(float(10 ** rng.uniform(low, high)))


def learns(true: Trained) -> bool:
    """Whether a healthy run did what it was started for."""
    way = true.best - true.start
    return true.score - true.start >= LEARNS * way or true.score >= true.start + SOLVED * way


def harm(link: Link, run: Trained, twin: Trained) -> float:
    """How much worse than its twin the run is: its report where the evaluation is broken, its time for the systems."""
    way = max(twin.best - twin.start, 1e-9)
    if link is Link.SYSTEMS:
        return math.log(run.seconds / twin.seconds)
    if link is Link.EVALUATION:
        lies = [abs(true.reported - true.claimed) for true in (run, twin)]
        return (lies[0] - lies[1]) / way if math.isfinite(sum(lies)) else 0.0
    return (twin.score - run.score) / way


def make(seed: int) -> tuple[logs.Log, MicroLabel]:
    """The log and the label of the run of a seed."""
    draw, log, twin = drawn(seed)
    return labelled(draw, log, twin)


def labelled(draw: Draw, twin_log: logs.Log, twin: Trained) -> tuple[logs.Log, MicroLabel]:
    """Make the run of a draw, with its label."""
    fault = draw.fault
    log, true = draw.train() if fault else (twin_log, twin)
    worse = float(harm(fault.link, true, twin)) if fault else 0.0
    label = MicroLabel(
        variant=fault.name if fault else "healthy",
        base=f"micro/{draw.algorithm}",
        seed=draw.seed,
        severity=draw.severity,
        link=fault.link.value if fault else None,
        cause=fault.cause if fault else None,
        onset=max(1, round(draw.onset * true.steps)) if fault else None,
        steps=true.steps,
        score=round(true.score, 4),
        reported=round(true.reported, 4),
        seconds=round(true.seconds, 2),
        cpu_seconds=round(true.seconds, 2),
        peak_gb=0.0,
        algorithm=draw.algorithm,
        trainer=draw.trainer,
        accepted=tuple(link.value for link in (fault.link, *fault.accepted)) if fault else (),
        harm=round(worse, 4),
        harmful=worse > HARM,
        twin=round(twin.score, 4),
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
