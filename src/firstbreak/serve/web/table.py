"""The curves of a run as CSV: a row for each step, a column for each metric."""

import csv
import io

import numpy as np

from firstbreak.model import Run

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  #: what a spreadsheet would calculate


def written(run: Run) -> str:
    """Kind of step, step, and every metric by its own name. A cell is empty where a step has no value."""
    curves = {**run.series, **run.unknown}
    rows: dict[tuple[str, float], list[str]] = {}
    for place, series in enumerate(curves.values()):
        for step, value in zip(series.steps.tolist(), series.values.tolist(), strict=True):
            rows.setdefault((series.axis, step), [""] * len(curves))[place] = repr(value)
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(["axis", "step", *(_harmless(name) for name in curves)])
    writer.writerows([axis, np.format_float_positional(at, trim="-"), *rows[axis, at]] for axis, at in sorted(rows))
    return file.getvalue()


def _harmless(name: str) -> str:
    name = name.encode("utf-8", "backslashreplace").decode()
    return f"'{name}" if name.startswith(_FORMULA) else name
