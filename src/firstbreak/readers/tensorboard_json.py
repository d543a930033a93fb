"""What TensorBoard's page saves as JSON: `run-<run>-tag-<tag>.json`, a list of [wall time, step, value] of one metric.

The same download as CSV is read by `csv.py`. Source: tensorboard/plugins/scalar/scalars_plugin.py
"""

import re
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._columns import exported_tag
from firstbreak.readers._json import loads, sound_elements
from firstbreak.readers.opening import read_whole

DESCRIPTION = "TensorBoard's download of a metric as JSON: run-<run>-tag-<tag>.json"
FILES = ("*.json",)
PRIORITY = 5
MAX_BYTES = 1 << 28

_WORD = rb'(?:-?\d[\d.eE+-]*|"?-?(?:NaN|Infinity)"?)'
_POINTS = re.compile(rb"\s*\[\s*\[\s*\d{9,10}(?:\.\d+)?(?:e\+?\d+)?\s*,\s*-?\d+(?:\.0)?\s*,\s*" + _WORD + rb"\s*\]")


def sniff(path: Path, head: bytes) -> bool:
    """A .json file that begins with a point: unix seconds, a whole number, a number."""
    return path.suffix.lower() == ".json" and _POINTS.match(head) is not None


def read(path: Path, resume: Any = None) -> Recording:
    """One curve, whole each time; the page writes the file once."""
    data = read_whole(path, MAX_BYTES)
    damage: list[str] = []
    cut = False
    try:
        points = loads(data)
    except ValueError:
        text = data.decode("utf-8", "replace")
        points, damage, cut = sound_elements(text, text.find("["), "point")
    rows = [point for point in points if len(point) == 3]
    if not rows:
        raise Unreadable(path, "holds no whole point", "download it again")
    times, steps, values = np.array(rows, dtype=float).T
    curves = {exported_tag(path): Curve(index=steps, values=values, times=times)}
    return Recording(format="tensorboard_json", curves=curves, indexed_by="step", damage=damage, cut=cut)
