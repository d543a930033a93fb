"""wandb's readings of the machine, as `run.history(stream="events")` gives them: JSON lines with `system.gpu.0.gpu` and the like.

The index is in seconds of the run; `read.py` puts it onto the steps of the run.
"""

from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording, jsonl
from firstbreak.readers._json import loads
from firstbreak.values import replace

DESCRIPTION = "wandb's readings of the machine (the stream of events), in JSON lines"
PRIORITY = 20
BESIDE = True
CLOCKS = ("_timestamp", "_runtime")


def sniff(path: Path, head: bytes) -> bool:
    """JSON lines whose first one holds a clock of wandb, and besides that only readings of the machine."""
    first = head.lstrip().partition(b"\n")[0]
    if not first.startswith(b"{") or b'"system.' not in first:
        return False
    try:
        row = loads(first)
    except ValueError:
        return False
    names = set(row) - {name for name in row if name.startswith("_")} if isinstance(row, dict) else set()
    return bool(names) and all(name.startswith("system.") for name in names) and not set(CLOCKS).isdisjoint(row)


def read(path: Path, resume: Any = None) -> Recording:
    """The readings on the clock of the run; with `resume`, of the lines appended since."""
    rows = jsonl.read(path, resume)
    clock = next((rows.curves[name] for name in CLOCKS if name in rows.curves), None)
    own = {name: curve for name, curve in rows.curves.items() if name.startswith("system.")}
    if clock is None:
        return replace(rows, format="wandb_events", curves={})
    time = dict(zip(clock.index.tolist(), clock.values.tolist(), strict=True))
    curves = {}
    for name, curve in own.items():
        keep = [i for i, row in enumerate(curve.index.tolist()) if row in time]
        at = [time[row] for row in curve.index[keep].tolist()]
        curves[name] = Curve(index=np.array(at, float), values=curve.values[keep])
    return replace(rows, format="wandb_events", curves=curves, config={}, indexed_by="step", axis="seconds")
