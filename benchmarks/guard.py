"""What the guard costs, how soon the guard stops a broken run, and whether bundles survive kill -9: `make bench-guard`.

Replays every run of the corpus's test split, and every healthy run, step by step as in a training loop. Only the small model
of the kill -9 trials is trained. With `--replays FILE`, finished replays are stored in this file, and an interrupted
benchmark can be continued. The file is valid for one version of the code.
"""

import argparse
import hashlib
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
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.bench import kind_of
from firstbreak_lab.corpus import labels, opened, split
from firstbreak_lab.running import Label

from benchmarks.lab import rounded
from benchmarks.machine import environment
from benchmarks.size import corpus, place, sized
from firstbreak.live.guard.decision import Act, GuardDecision
from firstbreak.live.guard.guard import Guard
from firstbreak.live.guard.schedule import ENDS
from firstbreak.model import Run
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
CORPUS = corpus()
RESULT = ROOT / "benchmarks" / "results" / "guard.json"
NAMES = ("loss", "grad_norm", "reward", "reward_std", "kl", "entropy", "clip_ratio/region_mean", "learning_rate")
METRICS = (*NAMES, *(f"custom/{i}" for i in range(40 - len(NAMES))))
STEP_SECONDS = 0.1  #: of the loop whose share is measured
FROM_THE_START = 0.05  #: of a run; a fault with an earlier onset has no healthy steps before it
REPLAY_SECONDS = 10.0  #: of one step of a replayed run: a short step of a language model
PATIENT = 600.0  #: seconds; the replay is much faster than training, so that it must wait for a scheduled check
AMORTISED_STEPS = 20_000
STEPS = sized(1_000_000, 1_000)
TRIALS = sized(100, 1)


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


def observe_us(observe: Callable[[int, Mapping[str, float]], object], n: int = 1_000) -> float:
    """The median processor time of one call, in microseconds: other programs on the machine do not count."""
    took = []
    for step, row in enumerate(rows(n)):
        began = time.process_time_ns()
        observe(step, row)
        took.append(time.process_time_ns() - began)
    return statistics.median(took) / 1e3


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

    The work is a clock that jumps: waiting for it would measure the same at a thousand times the cost. Processor time is
    counted, so that other programs on the machine are not.
    """
    trained = 0.0
    guard = Guard(trainer="trl", on_decision=_nobody, patience=PATIENT, clock=lambda: time.process_time() + trained)
    inside, checks = 0.0, 0
    for step, row in enumerate(rows(n)):
        trained += STEP_SECONDS
        before = guard.diagnosis
        began = time.process_time()
        guard.observe(step, row)
        inside += time.process_time() - began
        checks += guard.diagnosis is not before
    return {"steps": n, "checks": checks, "fraction": inside / (n * STEP_SECONDS + inside)}


def memory(n: int) -> dict[str, float]:
    """Resident memory after one hundredth and at the end of a long run without scheduled checks, in MB."""
    guard = Guard(trainer="trl", on_decision=_nobody, share=0.0)
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
    """What the guard did on one run. Steps are the trainer's own."""

    alarms: tuple[float, ...]  #: steps at which a scheduled check advised to stop
    stopped: float | None
    by: str
    skipped: int  #: steps at which an update would have been left out
    reduced: int


@dataclass(frozen=True)
class Judged:
    """A replay with the label of its run."""

    label: Label
    replay: Replay

    @property
    def onset(self) -> float:
        """The first step that the fault affects."""
        return self.label.onset or 0.0

    @property
    def alarm(self) -> float | None:
        """The first alarm after the onset, as a share of the run since then."""
        later = (step for step in self.replay.alarms if step >= self.onset)
        return next(((step - self.onset) / self.label.steps for step in later), None)

    @property
    def stop(self) -> float | None:
        """The same of the stop; negative where it came before the onset."""
        stopped = self.replay.stopped
        return None if stopped is None else (stopped - self.onset) / self.label.steps

    @property
    def saved(self) -> float:
        """The share of the steps after the onset that were not trained; 0 where it was not stopped."""
        left = self.label.steps - max(self.replay.stopped or math.inf, self.onset)
        return max(0.0, left / (self.label.steps - self.onset))


def as_logged(run: Run) -> Iterator[tuple[float, dict[str, float]]]:
    """The run row by row, under the trainer's own names."""
    cells: dict[float, dict[str, float]] = defaultdict(dict)
    for series in (*run.series.values(), *run.unknown.values(), *run.duplicates):
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            cells[step][series.raw] = value
    yield from sorted(cells.items())


def replay(folder: Path, archive: str) -> Replay:
    """Feed one run of the corpus to a guard that may stop it."""
    with opened(folder, archive) as (path, _), tempfile.TemporaryDirectory() as kept:
        run = read(path)
        trained = 0.0
        guard = Guard(
            "stop",
            folder=kept,
            trainer=run.trainer,
            config=run.config.raw,
            on_decision=_nobody,
            patience=PATIENT,
            clock=lambda: time.process_time() + trained,
        )
        samples = defaultdict(list)
        for sample in run.samples or ():
            samples[sample.step].append(sample)
        acts: dict[Act, int] = defaultdict(int)
        alarms: list[float] = []
        decision = GuardDecision()
        for step, row in as_logged(run):
            trained += REPLAY_SECONDS
            decision = guard.observe(step, row, samples=samples.get(step))
            acts[decision.act] += 1
            if decision.stop or (decision.diagnosis is not None and decision.diagnosis.verdict.action in ENDS):
                alarms.append(step)
            if decision.stop:
                break
    stopped = decision.step if decision.stop else None
    return Replay(tuple(alarms), stopped, decision.by if decision.stop else "", acts[Act.SKIP_UPDATE], acts[Act.REDUCE])


def replays(folder: Path, chosen: Sequence[str], processes: int, kept: Path | None) -> Iterator[Replay]:
    """Every replay, those taken from the file `kept` that lie there; the others are added to it."""
    keys = {a: f"{a} {hashlib.sha256((folder / a).read_bytes()).hexdigest()}" for a in chosen}
    lines = kept.read_text().splitlines() if kept is not None and kept.exists() else []
    known = {entry.pop("key"): Replay(**entry) for entry in map(json.loads, lines)}
    missing = [a for a in chosen if keys[a] not in known]
    with ProcessPoolExecutor(processes) as pool:
        made = pool.map(partial(replay, folder), missing)
        for archive in chosen:
            if (key := keys[archive]) not in known:
                known[key] = next(made)
                if kept is not None:
                    with kept.open("a") as file:
                        file.write(json.dumps({"key": key, **asdict(known[key])}) + "\n")
            yield known[key]


def live(folder: Path, processes: int, most: int | None, kept: Path | None, *, trusting: bool) -> dict[str, Any]:
    """All figures of the replays: faulty runs of the test split, and every healthy run.

    With `trusting`, faults with too few seeds for the harm test count as faulty, for a corpus that is not complete yet.
    """
    found = labels(folder)
    kinds = kind_of(found.values(), trusting=trusting)
    judged = {a: kinds(label) for a, label in found.items() if kinds(label) != "unjudged"}
    chosen = [a for a, kind in judged.items() if kind == "healthy" or split(found[a]) == "test"]
    chosen = sorted(chosen, key=lambda archive: hashlib.sha256(archive.encode()).digest())[
        :most
    ]  # stays as the corpus grows
    by_kind: dict[str, list[Judged]] = defaultdict(list)
    for archive, one in zip(chosen, replays(folder, chosen, processes, kept), strict=True):
        by_kind[judged[archive]].append(Judged(found[archive], one))
    faulty, healthy = by_kind["faulty"], by_kind["healthy"]
    later = [one for one in faulty if one.onset > FROM_THE_START * one.label.steps]
    return {
        "replayed": {kind: len(part) for kind, part in by_kind.items()},
        "healthy_runs": len(healthy),
        "false_stops": sum(one.stop is not None for one in healthy),
        "false_stops_by": sorted(
            f"{one.label.variant}, {one.label.base}: {one.replay.by}" for one in healthy if one.stop is not None
        ),
        "healthy_alarmed": sum(bool(one.replay.alarms) for one in healthy),
        "healthy_skipped": sum(one.replay.skipped > 0 for one in healthy),
        "healthy_reduced": sum(one.replay.reduced > 0 for one in healthy),
        "harmless_stops": sum(one.stop is not None for one in by_kind["harmless"]),
        "stopped_too_early": sum(one.stop is not None and one.stop < 0 for one in faulty),
        **summary(faulty),
        "late_onset": summary(later),
        "faults": {variant: summary(part) for variant, part in grouped(faulty)},
    }


def summary(faulty: Sequence[Judged]) -> dict[str, float | None]:
    """Shares: of the runs that raised an alarm and were stopped after the onset, of the run until then, of the steps saved."""
    alarms = [one.alarm for one in faulty if one.alarm is not None]
    stops = [one.stop for one in faulty if one.stop is not None and one.stop >= 0]
    return {
        "runs": len(faulty),
        "alarmed_fraction": len(alarms) / len(faulty) if faulty else None,
        "median_delay_fraction": statistics.median(alarms) if alarms else None,
        "stopped_fraction": len(stops) / len(faulty) if faulty else None,
        "median_stop_delay_fraction": statistics.median(stops) if stops else None,
        "saved_fraction": statistics.mean(one.saved for one in faulty) if faulty else None,
    }


def grouped(faulty: Sequence[Judged]) -> list[tuple[str, list[Judged]]]:
    """The runs of each fault."""
    groups: dict[str, list[Judged]] = defaultdict(list)
    for one in faulty:
        groups[one.label.variant].append(one)
    return sorted(groups.items())


# Whether the evidence survives ------------------------------------------------------------------------------------------


def kill_trials(n: int) -> dict[str, int]:
    """Kill a training process that writes bundle after bundle, at random moments; then read and replay the last whole one."""
    import torch

    from firstbreak.live.guard import bundle
    from firstbreak.live.guard import replay as again

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
            finished = 1 + len(os.read(mine, 1 << 16))
            os.close(mine)
            kept = bundle.complete(folder)
            for path in kept:
                bundle.read(path)
            compared = again.replay(kept[-1], _toy())
            counts["kill9_trials"] += 1
            counts["kill9_ok"] += len(kept) >= finished and bool(compared) and all(one.equal for one in compared)
            counts["kill9_while_writing"] += any(folder.glob(".*"))
            counts["kill9_bundles"] += len(kept)
    return counts


def _toy() -> Any:
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.Dropout(0.1), torch.nn.Linear(256, 1))
    optimizer = torch.optim.Adam(model.parameters())
    return model, optimizer, lambda batch: model(batch).square().mean()


def _train_and_keep(folder: Path, pipe: int) -> None:
    """Train, and write a bundle for every update, until this process is killed."""
    import torch

    from firstbreak.live.guard.adapters.torch import attach

    model, optimizer, loss_of = _toy()
    step = 0
    while True:
        guard = Guard("stop", folder=folder, on_decision=_nobody)
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
        os.write(pipe, b".")
        optimizer._optimizer_step_pre_hooks.clear()


def _nobody(decision: GuardDecision) -> None:
    """Report no decision."""


def measure(
    corpus: Path, *, processes: int, most: int | None, replays: Path | None, steps: int, trials: int, trusting: bool
) -> dict[str, Any]:
    """All figures of guard.json."""
    guard = Guard(trainer="trl", on_decision=_nobody, share=0.0)
    costs = amortised(min(steps, AMORTISED_STEPS))
    return {
        **environment("make bench-guard", ("firstbreak", "numpy", "torch", "rldoctor", "rlwatch")),
        "metrics": len(METRICS),
        "observe_us_median": observe_us(guard.observe),
        "peers": {
            "rldoctor": {"observe_us_median": observe_us(rldoctor())},
            "rlwatch": {"observe_us_median": observe_us(rlwatch())},
        },
        "amortised_fraction": costs["fraction"],
        "amortised": costs,
        "memory": memory(steps),
        **kill_trials(trials),
        **live(corpus, processes, most, replays, trusting=trusting),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--most", type=int, default=sized(None, 2), help="largest number of runs to replay")
    parser.add_argument("--replays", type=Path, help="file that stores finished replays")
    parser.add_argument("--steps", type=int, default=STEPS, help="of the run whose memory is measured")
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument(
        "--trusting", action="store_true", help="count faults with too few seeds for the harm test as faulty"
    )
    parser.add_argument("--output", type=Path, default=place(RESULT))
    given = parser.parse_args()
    options = {name: value for name, value in vars(given).items() if name not in ("corpus", "output")}
    figures = measure(given.corpus, **options)
    text = json.dumps(rounded(figures), indent=1)
    given.output.write_text(text + "\n")
    print(text, file=sys.stderr)


if __name__ == "__main__":
    main()
