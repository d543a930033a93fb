"""How long a start takes: processor time of `firstbreak`, beside that of `python -c "import numpy"` in the same session.

`diagnose_over_numpy` is the time from the start of a process to the verdict on a run of 500 rows, as TRL's GRPO trainer
writes it, healthy or broken; `version_over_numpy` and `help_over_numpy` are `--version` and `--help`. Nothing is cached but the
interpreter's own compiled files. Each is the least of several runs, which take turns, so that a busy machine slows all of
them.
"""

import json
import math
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROWS = 500
ROUNDS = 7


def rows(n: int, *, broken: bool) -> Iterator[dict[str, float]]:
    """The log of a GRPO run; a broken one drifts away from its reference after 60 % of its steps, and loses its reward."""
    chance = random.Random(0)
    noise = chance.gauss
    for step in range(1, n + 1):
        t = step / n
        reward = 0.2 + 0.6 * (1 - math.exp(-4 * t)) + noise(0, 0.03)
        kl, entropy = 0.002 + 0.05 * t + abs(noise(0, 0.002)), 0.6 - 0.2 * t + noise(0, 0.01)
        if broken and t > 0.6:
            reward, kl = 0.75 - 1.7 * (t - 0.6) + noise(0, 0.03), 0.05 + 20 * (t - 0.6)
            entropy = max(0.01, 0.45 - 2 * (t - 0.6))
        length = 220 + 40 * t + noise(0, 6)
        yield {
            "step": step,
            "epoch": t,
            "loss": noise(0.001, 0.01),
            "grad_norm": 0.4 + abs(noise(0, 0.05)),
            "learning_rate": 1e-6 * (1 - t),
            "num_tokens": 40_000.0 * step,
            "completions/mean_length": length,
            "completions/min_length": 60 + noise(0, 5),
            "completions/max_length": 480 + noise(0, 10),
            "completions/clipped_ratio": max(0.0, noise(0.02, 0.005)),
            "completions/mean_terminated_length": length - 5,
            "rewards/accuracy_reward/mean": reward,
            "rewards/accuracy_reward/std": noise(0.4, 0.02),
            "reward": reward,
            "reward_std": noise(0.25, 0.02),
            "frac_reward_zero_std": max(0.0, noise(0.1, 0.03)),
            "kl": kl,
            "entropy": entropy,
            "clip_ratio/low_mean": 0.001,
            "clip_ratio/high_mean": max(0.0, noise(0.002, 0.0004)),
            "clip_ratio/region_mean": max(0.0, noise(0.003, 0.0004)),
            "step_time": noise(6, 0.2),
        }


def run(folder: Path, *, broken: bool) -> Path:
    """The folder of a run as TRL writes it."""
    place = folder / ("broken" if broken else "healthy")
    place.mkdir()
    state = {"global_step": ROWS, "max_steps": ROWS, "log_history": list(rows(ROWS, broken=broken))}
    (place / "trainer_state.json").write_text(json.dumps(state))
    return place


def processor_time(arguments: Sequence[str]) -> float:
    """Seconds of processor time, user and system, of one fresh process of Python."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(
        [sys.executable, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise RuntimeError(f"{' '.join(arguments)} ended with {process.returncode}")
    return used.ru_utime + used.ru_stime


def start(rounds: int = ROUNDS) -> dict[str, float]:
    """`diagnose_over_numpy` (the slower one of a healthy and a broken run), `version_over_numpy`, `help_over_numpy`."""
    with tempfile.TemporaryDirectory() as folder:
        program = ("-m", "firstbreak")
        commands: dict[str, Sequence[str]] = {
            "numpy": ("-c", "import numpy"),
            "healthy": (*program, "diagnose", str(run(Path(folder), broken=False))),
            "broken": (*program, "diagnose", str(run(Path(folder), broken=True))),
            "version": (*program, "--version"),
            "help": (*program, "--help"),
        }
        for arguments in commands.values():  # writes the compiled files
            processor_time(arguments)
        seconds = {name: math.inf for name in commands}
        for _ in range(rounds):
            for name, arguments in commands.items():
                seconds[name] = min(seconds[name], processor_time(arguments))
    diagnose = max(seconds["healthy"], seconds["broken"])
    return {
        "numpy_cpu_s": round(seconds["numpy"], 3),
        "diagnose_cpu_s": round(diagnose, 3),
        "diagnose_over_numpy": round(diagnose / seconds["numpy"], 2),
        "version_over_numpy": round(seconds["version"] / seconds["numpy"], 2),
        "help_over_numpy": round(seconds["help"] / seconds["numpy"], 2),
    }
