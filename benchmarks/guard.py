"""What the guard costs, how soon it stops a broken run, and whether its evidence survives kill -9: `make bench-guard`.

Replays every run of the corpus's test split, and every healthy run, step by step as a training loop would have fed it. Nothing is
trained but the toy of the kill -9 trials.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import signal
import statistics
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.lab import page
from benchmarks.machine import environment
from firstbreak.engine.read import read
from firstbreak.guard.decision import Act, Decision
from firstbreak.guard.guard import Guard
from firstbreak.lab.bench import kind_of
from firstbreak.lab.corpus import labels, opened, split
from firstbreak.lab.running import Label
from firstbreak.model import Run

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "corpus"
RESULT = ROOT / "benchmarks" / "results" / "guard.json"
PAGE = ROOT / "docs" / "guard.md"
NAMES = ("loss", "grad_norm", "reward", "reward_std", "kl", "entropy", "clip_ratio/region_mean", "learning_rate")
METRICS = (*NAMES, *(f"custom/{i}" for i in range(40 - len(NAMES))))
STEP_SECONDS = 0.1  #: of the loop whose share is measured
REPLAY_SECONDS = 10.0  #: of a step of a replayed run: what a small step of a language model takes
TRIALS = 100


# What it costs ----------------------------------------------------------------------------------------------------------


def rows(n: int) -> Iterator[dict[str, float]]:
    """Steps of a healthy GRPO run with 40 metrics."""
    rng = np.random.default_rng(0)
    scale = np.ones(len(METRICS))
    for i in range(n):
        row = dict(zip(METRICS, (scale + rng.normal(0, 0.05, len(METRICS))).tolist(), strict=True))
        row |= {
            "reward": i / n + row["reward"] / 20,
            "reward_std": 0.3,
            "clip_ratio/region_mean": 0.1,
            "kl": 1e-3 * row["kl"],
        }
        yield row


def observe_us(observe: Callable[[int, Mapping[str, float]], object], n: int = 5_000) -> float:
    """The median time of one call, in microseconds."""
    took = []
    for step, row in enumerate(rows(n)):
        began = time.perf_counter()
        observe(step, row)
        took.append(time.perf_counter() - began)
    return statistics.median(took) * 1e6


def rldoctor() -> Callable[[int, Mapping[str, float]], object]:
    """LiveMonitor as it ships."""
    from rl_doctor.live import LiveMonitor

    monitor = LiveMonitor(on_finding=lambda finding: None)
    return lambda step, row: monitor.log(row, step=step)


def rlwatch() -> Callable[[int, Mapping[str, float]], object]:
    """Its detectors as they ship, with the seven numbers that they take."""
    from rlwatch.config import RLWatchConfig
    from rlwatch.detectors import DetectorSuite

    suite = DetectorSuite(RLWatchConfig())
    names = {"entropy": "entropy", "kl_divergence": "kl", "reward_mean": "reward", "reward_std": "reward_std"}
    names |= {"loss": "loss", "grad_norm": "grad_norm"}
    return lambda step, row: suite.check_step(step, **{theirs: row[ours] for theirs, ours in names.items()})


def amortised(n: int) -> dict[str, float]:
    """The share of a loop's time that the guard takes, the loop's own work being STEP_SECONDS a step.

    The work is a clock that jumps: waiting for it would measure the same at a thousand times the cost.
    """
    trained = 0.0
    guard = Guard(trainer="trl", tell=_nobody, clock=lambda: time.perf_counter() + trained)
    inside, looked = 0.0, 0
    for step, row in enumerate(rows(n)):
        trained += STEP_SECONDS
        before = guard.diagnosis
        began = time.perf_counter()
        guard.observe(step, row)
        inside += time.perf_counter() - began
        looked += guard.diagnosis is not before
    return {"steps": n, "looks": looked, "fraction": inside / (n * STEP_SECONDS + inside)}


def memory(n: int) -> dict[str, float]:
    """Resident memory after a hundredth and at the end of a long run without looks, in MB."""
    guard = Guard(trainer="trl", tell=_nobody, share=0.0)
    base = list(rows(1000))
    early = 0.0
    for step in range(n):
        guard.observe(step, base[step % 1000])
        if step == n // 100:
            early = resident_mb()
    return {"steps": n, "early_mb": early, "end_mb": resident_mb()}


def resident_mb() -> float:
    """What this process holds now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


# How soon it stops ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Replay:
    """What the guard did on one run."""

    label: Label
    stopped: float | None  #: step
    by: str
    skipped: int  #: steps at which an update would have been left out
    reduced: int

    @property
    def delay(self) -> float:
        """From the onset of the fault to the stop, as a share of the run."""
        return ((self.stopped or 0) - (self.label.onset or 0)) / self.label.steps

    @property
    def saved(self) -> float:
        """The share of the steps after the onset that were not trained; 0 where it was not stopped."""
        wasted = self.label.steps - (self.label.onset or 0)
        return (
            0.0
            if self.stopped is None
            else max(0.0, self.label.steps - max(self.stopped, self.label.onset or 0)) / wasted
        )


def as_logged(run: Run) -> Iterator[tuple[float, dict[str, float]]]:
    """The run row by row, under the trainer's own names."""
    cells: dict[float, dict[str, float]] = defaultdict(dict)
    for series in (*run.series.values(), *run.unknown.values(), *run.duplicates):
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            cells[step][series.raw] = value
    yield from sorted(cells.items())


def replay(folder: Path, archive: str) -> Replay:
    """Feed one run of the corpus to a guard that may stop it."""
    with opened(folder, archive) as (path, label), tempfile.TemporaryDirectory() as kept:
        run = read(path)
        trained = 0.0
        guard = Guard(
            "stop",
            folder=kept,
            trainer=run.trainer,
            config=run.config.raw,
            tell=_nobody,
            patience=600.0,  # a replay feeds a minute of training in a moment, so it has to wait for each look
            clock=lambda: time.perf_counter() + trained,
        )
        samples = defaultdict(list)
        for sample in run.samples or ():
            samples[sample.step].append(sample)
        acts: dict[Act, int] = defaultdict(int)
        decision = Decision()
        for step, row in as_logged(run):
            trained += REPLAY_SECONDS
            decision = guard.observe(step, row, samples=samples.get(step))
            acts[decision.act] += 1
            if decision.stop:
                break
    stopped = decision.step if decision.stop else None
    return Replay(label, stopped, decision.by if decision.stop else "", acts[Act.SKIP_UPDATE], acts[Act.REDUCE])


def live(folder: Path, processes: int, most: int | None, *, trusting: bool) -> dict[str, Any]:
    """All figures of the replays: faulty runs of the test split, and every healthy run.

    `trusting` counts the faults that cannot be judged yet as faulty: a look at a corpus that is half built.
    """
    found = labels(folder)
    kinds = kind_of(found.values(), trusting=trusting)
    chosen = [a for a, label in found.items() if kinds(label) == "healthy" or split(label) == "test"]
    chosen = random.Random(0).sample(chosen, min(most or len(chosen), len(chosen)))
    with ProcessPoolExecutor(processes) as pool:
        replays = list(pool.map(partial(replay, folder), chosen))
    by_kind: dict[str, list[Replay]] = defaultdict(list)
    for one in replays:
        by_kind[kinds(one.label)].append(one)
    faulty, healthy = by_kind["faulty"], by_kind["healthy"]
    stopped = [one for one in faulty if one.stopped is not None and one.delay >= 0]
    return {
        "replayed": {kind: len(part) for kind, part in by_kind.items()},
        "healthy_runs": len(healthy),
        "false_stops": sum(one.stopped is not None for one in healthy),
        "false_stops_by": sorted(
            f"{one.label.plant}, {one.label.base}: {one.by}" for one in healthy if one.stopped is not None
        ),
        "healthy_skipped": sum(one.skipped > 0 for one in healthy),
        "healthy_reduced": sum(one.reduced > 0 for one in healthy),
        "departed_stops": sum(one.stopped is not None for one in by_kind["departed"]),
        "unjudged_stops": sum(one.stopped is not None for one in by_kind["unjudged"]),
        "stopped_fraction": len(stopped) / len(faulty) if faulty else None,
        "stopped_too_early": sum(one.stopped is not None and one.delay < 0 for one in faulty),
        "median_delay_fraction": statistics.median(one.delay for one in stopped) if stopped else None,
        "saved_fraction": statistics.mean(one.saved for one in faulty) if faulty else None,
        "faults": per_fault(faulty),
    }


def per_fault(faulty: Sequence[Replay]) -> dict[str, dict[str, float | None]]:
    """Runs, share stopped, median delay and share of wasted steps saved of each fault."""
    groups: dict[str, list[Replay]] = defaultdict(list)
    for one in faulty:
        groups[one.label.plant].append(one)
    return {
        plant: {
            "runs": len(part),
            "stopped": statistics.mean(one.stopped is not None for one in part),
            "delay": statistics.median([one.delay for one in part if one.stopped is not None] or [float("nan")]),
            "saved": statistics.mean(one.saved for one in part),
        }
        for plant, part in sorted(groups.items())
    }


# Whether the evidence survives ------------------------------------------------------------------------------------------


def kill_trials(n: int) -> dict[str, int]:
    """Kill a training process that writes bundle after bundle, at random moments; then read and replay the last whole one."""
    import torch

    from firstbreak.guard import bundle
    from firstbreak.guard import replay as again

    torch.set_num_threads(1)
    moments = random.Random(0)
    counts = dict.fromkeys(("kill9_trials", "kill9_ok", "kill9_while_writing", "kill9_bundles"), 0)
    for _ in range(n):
        with tempfile.TemporaryDirectory() as scratch:
            folder, (mine, theirs) = Path(scratch), os.pipe()
            child = os.fork()
            if child == 0:
                os.close(mine)
                _train_and_keep(folder, theirs)
            os.close(theirs)
            assert os.read(mine, 1)  # the first bundle is whole
            time.sleep(moments.uniform(0.0, 0.1))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            said = 1 + len(os.read(mine, 1 << 16))
            os.close(mine)
            kept = bundle.whole(folder)
            for path in kept:
                bundle.read(path)
            compared = again.replay(kept[-1], _toy())
            counts["kill9_trials"] += 1
            counts["kill9_ok"] += len(kept) >= said and bool(compared) and all(one.equal for one in compared)
            counts["kill9_while_writing"] += any(folder.glob(".*"))
            counts["kill9_bundles"] += len(kept)
    return counts


def _toy() -> Any:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Dropout(0.1), torch.nn.Linear(256, 1))
    optimizer = torch.optim.Adam(model.parameters())
    return model, optimizer, lambda batch: model(batch).square().mean()


def _train_and_keep(folder: Path, told: int) -> None:
    """Train, and keep every update, until somebody kills this process."""
    import torch

    from firstbreak.guard.adapters.torch import attach

    model, optimizer, loss_of = _toy()
    step = 0
    while True:
        guard = Guard("stop", folder=folder, tell=_nobody)
        loop = attach(guard, model, optimizer)
        guard.stop("kept")
        while True:
            step += 1
            batch = torch.randn(32, 64)
            loop.begin(batch)
            loss = loss_of(batch)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if loop.observe(step, {"loss": loss.item()}).stop:
                break
        os.write(told, b".")
        optimizer._optimizer_step_pre_hooks.clear()


def _nobody(decision: Decision) -> None:
    """Nobody is told."""


def measure(
    corpus: Path, *, processes: int, most: int | None, steps: int, trials: int, trusting: bool
) -> dict[str, Any]:
    """All figures of guard.json."""
    guard = Guard(trainer="trl", tell=_nobody, share=0.0)
    costs = amortised(min(steps, 50_000))
    held = memory(steps)
    return {
        **environment("make bench-guard", ("firstbreak", "numpy", "torch", "rldoctor", "rlwatch")),
        "metrics": len(METRICS),
        "observe_us_median": observe_us(guard.observe),
        "peers": {
            "rldoctor": {"observe_us_median": observe_us(rldoctor(), 2_000)},
            "rlwatch": {"observe_us_median": observe_us(rlwatch(), 2_000)},
        },
        "amortised_fraction": costs["fraction"],
        "amortised": costs,
        "memory": held,
        **kill_trials(trials),
        **live(corpus, processes, most, trusting=trusting),
    }


# The page ---------------------------------------------------------------------------------------------------------------


def tables(figures: dict[str, Any]) -> dict[str, str]:
    """The made part of docs/guard.md."""
    costs, held = figures["amortised"], figures["memory"]
    rows = [
        [f"`observe` with {figures['metrics']} metrics, median", f"{figures['observe_us_median']:.0f} us"],
        *([f"the same, {who}", f"{part['observe_us_median']:.1f} us"] for who, part in figures["peers"].items()),
        [f"share of a loop of {STEP_SECONDS:g} s a step, looks included", f"{costs['fraction']:.2%}"],
        [
            f"memory after {held['steps'] // 100} and after {held['steps']} steps",
            f"{held['early_mb']:.0f}, {held['end_mb']:.0f} MB",
        ],
        ["healthy runs replayed, stopped", f"{figures['healthy_runs']}, {figures['false_stops']}"],
        [
            "faulty runs replayed, stopped after the onset",
            f"{figures['replayed'].get('faulty', 0)}, {_share(figures['stopped_fraction'])}",
        ],
        ["median delay from onset to stop, share of the run", _share(figures["median_delay_fraction"])],
        ["steps after the onset that were saved", _share(figures["saved_fraction"])],
        ["kill -9 trials, bundle whole and replayed", f"{figures['kill9_trials']}, {figures['kill9_ok']}"],
        ["of these, killed while writing", figures["kill9_while_writing"]],
    ]
    faults = [
        [name, part["runs"], _share(part["stopped"]), _share(part["delay"]), _share(part["saved"])]
        for name, part in figures["faults"].items()
    ]
    measured = (
        f"Measured by `{figures['command']}` on {figures['date']}: {figures['machine']}, Python {figures['python']}."
    )
    per_fault_table = table(["fault", "runs", "stopped", "median delay", "steps saved"], faults)
    return {"figures": f"{measured}\n\n{table(['', ''], rows)}\n\n{per_fault_table}"}


def _share(value: float | None) -> str:
    return "-" if value is None or math.isnan(value) else f"{value:.0%}"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A Markdown table."""
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, help="replay no more runs than this")
    parser.add_argument("--steps", type=int, default=1_000_000, help="of the run whose memory is measured")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--trusting", action="store_true", help="count the faults that cannot be judged yet as faulty")
    parser.add_argument("--output", type=Path, default=RESULT)
    given = parser.parse_args()
    options = {name: value for name, value in vars(given).items() if name not in ("corpus", "output")}
    figures = measure(given.corpus, **options)
    text = json.dumps(figures, indent=1, default=float).replace("NaN", "null")
    given.output.write_text(text + "\n")
    if given.output == RESULT:
        PAGE.write_text(page(PAGE.read_text(), tables(json.loads(text))))
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
