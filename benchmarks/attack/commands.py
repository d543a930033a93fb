"""Ctrl-C at random moments of each command."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.make import write_jsonl

from benchmarks.attack import AttackTally

LONGEST = 10.0  #: seconds until a command has ended
STARTED = 0.15  #: seconds: what Python itself does until it runs the first line of a program
#: command -> what it is given, and the most seconds before Ctrl-C
COMMANDS: dict[str, tuple[tuple[str, ...], float]] = {
    "diagnose": (("RUN",), 1.5),
    "inspect": (("RUN",), 1.0),
    "explain": (("RUN", "reward.mean"), 1.0),
    "audit": (("SAMPLES",), 1.5),
    "compare": (("RUN", "OTHER"), 2.0),
    "closeout": (("RUN", "-o", "OUT"), 2.0),
    "watch": (("RUN",), 2.5),
    "serve": (("RUN", "--port", "0"), 3.0),
    "demo": ((), 1.5),
}


def signals(count: int, seed: int = 0) -> AttackTally:
    """Each command in turn, so many moments in all: it ends at once, without a traceback, and never says to stop the run."""
    tally, rng = AttackTally(), random.Random(seed)
    slowest = 0.0
    with tempfile.TemporaryDirectory() as scratch:
        places = _places(Path(scratch))
        for number in range(count):
            name = list(COMMANDS)[number % len(COMMANDS)]
            given, most = COMMANDS[name]
            after = rng.uniform(STARTED, most)
            arguments = [name, *(places.get(word, word) for word in given)]
            began, problems = _interrupted(arguments, after)
            slowest = max(slowest, began)
            tally.add(f"{name} after {after:.3f} s", *problems)
    tally.measured = {"slowest_end_s": round(slowest, 2)}
    return tally


def _places(folder: Path) -> dict[str, str]:
    write_jsonl(folder / "run" / "metrics.jsonl", 3000)
    write_jsonl(folder / "other" / "metrics.jsonl", 300)
    line = '{"step": %d, "prompt": "2 + 2?", "completion": "It is %d.", "reward": 0.5}\n'
    (folder / "completions.jsonl").write_text("".join(line % (i // 4, i % 7) for i in range(400)))
    return {
        "RUN": str(folder / "run"),
        "OTHER": str(folder / "other"),
        "SAMPLES": str(folder / "completions.jsonl"),
        "OUT": str(folder / "out"),
    }


def _interrupted(arguments: list[str], after: float) -> tuple[float, list[str]]:
    """Seconds from Ctrl-C to the end, and what was wrong with it. The whole group gets it, as from a terminal."""
    command = [sys.executable, "-m", "firstbreak", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True
    ) as process:
        time.sleep(after)
        before = process.poll()
        began = time.monotonic()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            _, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return LONGEST, [f"{arguments[0]}: goes on after Ctrl-C"]
        return time.monotonic() - began, list(_wrong(arguments[0], before, process.returncode, said))


def _wrong(name: str, before: int | None, code: int, said: str) -> Iterator[str]:
    if "Traceback" in said or "bug of firstbreak" in said:
        yield f"{name}: a traceback"
    if before is None and code in (1, 2, 3):  # 0: it was done; -2 is what a shell calls 130
        yield f"{name}: ends with {code}"
