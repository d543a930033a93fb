"""How fast runs are read, beside the fastest libraries: `make bench-readers`."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.machine import PACKAGES, environment
from benchmarks.readers_text import bench_text

RESULT = Path(__file__).resolve().parent / "results" / "readers.json"


def main() -> None:
    where = environment("make bench-readers", (*PACKAGES, "orjson", "pandas", "polars", "pyarrow"))
    figures = {**bench_text()}
    RESULT.parent.mkdir(exist_ok=True)
    RESULT.write_text(json.dumps({**where, **figures}, indent=2) + "\n")
    for name, figure in figures.items():
        print(name, json.dumps(figure))


if __name__ == "__main__":
    main()
