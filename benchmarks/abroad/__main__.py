"""Measure, write results/abroad.json and the tables of docs/lab.md: `python -m benchmarks.abroad`."""

from __future__ import annotations

import json

from benchmarks import lab
from benchmarks.abroad.measure import RESULT, measure
from benchmarks.abroad.tables import tables
from benchmarks.size import place


def main() -> None:
    figures = lab.rounded(measure())
    place(RESULT).write_text(json.dumps(figures, indent=1) + "\n")
    made = {**lab.tables(json.loads(lab.RESULT.read_text())), **tables(figures)}
    place(lab.PAGE).write_text(lab.page(lab.PAGE.read_text(), made))
    print(made["abroad"])


if __name__ == "__main__":
    main()
