"""Times one call in a fresh process, imports left out.

    python -m benchmarks.fresh_process MODULE:FUNCTION PATH

FUNCTION imports what it needs and returns the callable that is timed with PATH.
"""

import importlib
import json
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.size import sized


@dataclass(frozen=True)
class Timing:
    """Medians over fresh processes."""

    seconds: float
    peak_mb: float  #: resident memory of the whole process


def compare(functions: Iterable[str], path: Path, repeats: int = 5) -> dict[str, Timing]:
    """MODULE:FUNCTION -> timing. The functions take turns, so that a busy machine slows all of them alike."""
    functions = list(functions)
    runs = [{function: _run(function, path) for function in functions} for _ in range(sized(repeats, 1))]
    return {
        function: Timing(
            statistics.median(run[function].seconds for run in runs),
            statistics.median(run[function].peak_mb for run in runs),
        )
        for function in functions
    }


def _run(function: str, path: Path) -> Timing:
    command = [sys.executable, "-m", __name__, function, str(path)]
    return Timing(**json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout))


def main() -> None:
    module, _, name = sys.argv[1].partition(":")
    path = Path(sys.argv[2])
    call = getattr(importlib.import_module(module), name)()
    with path.open("rb") as file:  # into the page cache, a piece at a time to leave the peak alone
        while file.read(1 << 20):
            pass
    started = time.perf_counter()
    kept = call(path)
    seconds = time.perf_counter() - started
    del kept
    print(json.dumps({"seconds": seconds, "peak_mb": _peak_mb()}))


def _peak_mb() -> float:
    """Peak resident memory of this process. Linux counts the parent's memory into ru_maxrss, hence /proc."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) / 1024  # type: ignore[index]
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
