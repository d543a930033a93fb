"""Experiments that are killed leave nothing behind, and thousands of runs are surveyed in linear time."""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.size import sized
from firstbreak.compare.survey import survey
from firstbreak.compare.survey.runs import examine, find
from firstbreak.experiments import runner, supervisor
from firstbreak.experiments.runner import Trial, stored

ROOT = Path(__file__).resolve().parent.parent
TREE = ROOT / "tests" / "experiments" / "tree.py"
FLEET = sized((1_000, 3_000, 10_000), (20,))  #: sizes at which the survey is timed
SAMPLED = 200  #: runs whose processor time is measured: it is spent in processes that are no children of this one
RUN_ONE = (
    "import sys; from pathlib import Path; from benchmarks.endurance import trial; from firstbreak.experiments import "
    "runner; runner.run(trial(Path(sys.argv[1]), 'treated-0', 600.0))"
)


# --- kills -----------------------------------------------------------------------------------------------------------


def kills(n: int) -> dict[str, Any]:
    """Kill something at a random moment, `n` times."""
    rng = random.Random(0)
    with tempfile.TemporaryDirectory() as scratch:
        ended = [kill_once(rng, Path(scratch) / str(i)) for i in range(n)]
    return {"kills": n, "orphans": sum(orphans for orphans, _ in ended), "lost": sum(lost for _, lost in ended)}


def trial(folder: Path, name: str, seconds: float) -> Trial:
    """A trainer that starts workers, one of which leaves its process group."""
    command = (sys.executable, "-S", str(TREE), str(folder / name), str(seconds))
    return Trial(name=name, folder=folder / name, arguments=command, directory=str(ROOT))


def kill_once(rng: random.Random, scratch: Path) -> tuple[int, int]:
    """Kill runner, supervisor or trainer at a random moment: processes left after ten seconds, results lost."""
    done, victim = trial(scratch, "control-0", 0.0), trial(scratch, "treated-0", 600.0)
    runner.run(done)
    kept = stored(done)
    with subprocess.Popen([sys.executable, "-c", RUN_ONE, str(scratch)], cwd=ROOT, stderr=subprocess.DEVNULL) as killed:
        until(lambda: (victim.folder / "group.json").exists(), 60)
        time.sleep(rng.uniform(0, 0.3))
        trainer = int((victim.folder / "group.json").read_text())
        chain = {"runner": killed.pid, "supervisor": parent(trainer), "trainer": trainer}
        os.kill(chain[rng.choice(sorted(chain))], signal.SIGKILL)
        until(lambda: not supervisor.marked(victim.mark), 10)
        orphans = len(supervisor.marked(victim.mark))
        killed.kill()
    half = stored(victim)
    lost = int(kept is None or stored(done) != kept) + int(half is not None and half.final)
    return orphans, lost


def parent(process: int) -> int:
    """The process above, as /proc has it."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def until(condition: Callable[[], object], seconds: float) -> None:
    """Wait for it, at most so long."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.1)


# --- fleet -----------------------------------------------------------------------------------------------------------


def fleet(largest: int) -> dict[str, Any]:
    """Seconds and processor seconds of a survey, from nothing, at several sizes."""
    timed = {str(n): time_survey(n) for n in FLEET if n <= largest}
    wall, _ = timed[str(max(n for n in FLEET if n <= largest))]
    n = max(map(int, timed))
    return {
        "fleet_runs_per_s": round(n / wall, 1),
        "fleet_processes": os.cpu_count(),
        "fleet_seconds": {size: round(seconds, 1) for size, (seconds, _) in timed.items()},
        "fleet_cpu_ms_per_run": {size: round(1000 * cpu / int(size), 2) for size, (_, cpu) in timed.items()},
    }


def time_survey(n: int) -> tuple[float, float]:
    """Wall seconds of a survey of `n` runs, and the processor seconds that finding and diagnosing them takes."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "runs"
        write_runs(folder, n)
        start = time.perf_counter()
        rows = survey([folder], store=Path(scratch) / "store.jsonl", processes=os.cpu_count() or 1)
        wall = time.perf_counter() - start
        assert len(rows) == n
        start = time.process_time()
        found = [str(run) for run in find(folder)]
        finding = time.process_time() - start
        some = found[:: max(1, n // SAMPLED)]
        start = time.process_time()
        for run in some:
            examine(run)
        return wall, finding + (time.process_time() - start) * n / len(some)


def write_runs(folder: Path, n: int) -> None:
    """Short runs of 40 steps: two thirds rise, the others are flat or fall in the middle."""
    rng = np.random.default_rng(0)
    rises, falls = np.linspace(0.2, 0.8, 40), np.concatenate([np.linspace(0.2, 0.7, 20), np.linspace(0.7, 0.1, 20)])
    for i in range(n):
        place = folder / f"{i // 100:03d}" / f"run-{i:05d}"
        place.mkdir(parents=True)
        rewards = (falls if i % 9 == 0 else rises if i % 3 else np.full(40, 0.2)) + rng.normal(0, 0.03, 40)
        rows = ({"step": k + 1, "reward": float(v), "kl": k / 4000, "entropy": 1.0} for k, v in enumerate(rewards))
        (place / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
