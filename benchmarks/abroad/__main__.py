"""Measure, write results/abroad.json and the tables of docs/lab.md: `python -m benchmarks.abroad`.

`python -m benchmarks.abroad misses [CLASS]` lists every wrong answer with its class (misses.py), as it was measured last.
"""

from __future__ import annotations

import json
import sys
from collections import Counter

from benchmarks import lab
from benchmarks.abroad.measure import RESULT, measure
from benchmarks.abroad.tables import tables
from benchmarks.size import place


def main(arguments: list[str]) -> None:
    if arguments[:1] == ["misses"]:
        show(json.loads(RESULT.read_text())["misses"], arguments[1:])
        return
    figures = lab.rounded(measure())
    place(RESULT).write_text(json.dumps(figures, indent=1) + "\n")
    made = {**lab.tables(json.loads(lab.RESULT.read_text())), **tables(figures)}
    place(lab.PAGE).write_text(lab.page(lab.PAGE.read_text(), made))
    print(made["abroad"])


def show(misses: list[dict[str, str]], classes: list[str]) -> None:
    """Print the misses of these classes, of all where none is given, and how many each class has."""
    for miss in misses:
        if not classes or miss["why"] in classes:
            print("\t".join(str(value) for value in miss.values()))
    for why, n in Counter(miss["why"] for miss in misses).most_common():
        print(f"{n:5d}  {why}")


if __name__ == "__main__":
    main(sys.argv[1:])
