"""How long `make test` takes: `python -m benchmarks.speed_tests`, on a machine with nothing else to do.

`test_s` is the wall time of the run, `test_files_max_s` the most that one file takes: the sum over its tests, set-up included.
"""

import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def measure(*arguments: str) -> dict[str, Any]:
    """Run the lane once. Raises `subprocess.CalledProcessError` where a test fails."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.xml"
        start = time.monotonic()
        subprocess.run(
            ["make", "test", f"ARGS=--junitxml={report} {' '.join(arguments)}"], cwd=ROOT, check=True, stdout=sys.stderr
        )
        wall = time.monotonic() - start
        return {"test_s": round(wall), **per_file(report)}


def per_file(report: Path) -> dict[str, Any]:
    """The slowest files of a JUnit report, in seconds."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(report).iter("testcase"):
        seconds[_file(case.get("classname", ""))] += float(case.get("time", 0))
    slowest = seconds.most_common(10)
    return {
        "test_files_max_s": round(slowest[0][1], 1) if slowest else 0.0,
        "test_files": {name: round(taken, 1) for name, taken in slowest},
    }


def _file(name: str) -> str:
    """`tests.a.test_b.TestC` -> `tests/a/test_b.py`."""
    parts = name.split(".")
    last = next((i for i, part in enumerate(parts) if part.startswith("test_")), len(parts) - 1)
    return "/".join(parts[: last + 1]) + ".py"


if __name__ == "__main__":
    print(measure(*sys.argv[1:]))
