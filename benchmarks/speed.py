"""How fast firstbreak and its tests are: `make bench-speed`, on a machine with nothing else to do.

    python -m benchmarks.speed [start] [rows] [tests]      # all of them, or those that are named

Writes what it measured into benchmarks/results/speed.json and leaves the other figures there.
"""

import json
import sys
from collections.abc import Callable, Mapping
from typing import Any

from benchmarks import speed_rows, speed_start, speed_tests
from benchmarks.machine import environment
from benchmarks.size import ROOT, place, sized

RESULTS = ROOT / "benchmarks" / "results" / "speed.json"
PARTS: Mapping[str, Callable[[], Mapping[str, Any]]] = {
    "start": lambda: speed_start.start(sized(speed_start.ROUNDS, 1)),
    "rows": lambda: speed_rows.results(sized(speed_rows.ROWS, (1_000,))),
    "tests": lambda: {} if sized(False, True) else speed_tests.measure(),
}


def main(names: list[str]) -> None:
    figures: dict[str, Any] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in names or list(PARTS):
        figures |= PARTS[name]()
        place(RESULTS).write_text(
            json.dumps(environment("make bench-speed") | _without_machine(figures), indent=1) + "\n"
        )
        print(f"{name}: done", file=sys.stderr)
    print(json.dumps(figures, indent=1))


def _without_machine(figures: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in figures.items() if name not in environment("")}


if __name__ == "__main__":
    main(sys.argv[1:])
