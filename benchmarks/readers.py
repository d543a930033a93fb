"""How fast runs are read, beside the fastest libraries: `make bench-readers`.

    python -m benchmarks.readers [text] [binary]

A kind that is not asked for keeps its figures.
"""

import json
import sys
from pathlib import Path

from benchmarks.machine import PACKAGES, environment
from benchmarks.readers_binary import bench_binary
from benchmarks.readers_text import bench_text
from benchmarks.size import place

RESULT = Path(__file__).resolve().parent / "results" / "readers.json"
KINDS = {"text": bench_text, "binary": bench_binary}
LIBRARIES = ("orjson", "pandas", "polars", "pyarrow", "tensorboard", "tensorboard-data-server", "protobuf")


def main() -> None:
    measured = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    for kind in sys.argv[1:] or KINDS:
        figures = KINDS[kind]()
        measured |= figures
        for name, figure in figures.items():
            print(name, json.dumps(figure))
    where = environment("make bench-readers", (*PACKAGES, *LIBRARIES))
    RESULT.parent.mkdir(exist_ok=True)
    place(RESULT).write_text(
        json.dumps({**where, **{k: v for k, v in measured.items() if k not in where}}, indent=2) + "\n"
    )


if __name__ == "__main__":
    main()
