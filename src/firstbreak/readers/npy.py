"""A bare NumPy array (`numpy.save`): the evaluations of TD3-style scripts, without names and without a step axis.

A 1-D array is the curve `value`, or what its file's name says (`episode_rewards.npy`); the columns of a 2-D array are
`column 1`, `column 2`, ...; the row is the index.
"""

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Curve, Recording, Unreadable
from firstbreak.readers._columns import name_from_file
from firstbreak.readers._npy import read_array
from firstbreak.readers.opening import open_file

DESCRIPTION = "a bare NumPy array of evaluations (TD3 and its descendants)"
FILES = ("*.npy",)
MAX_COLUMNS = 1000
_IMAGES = re.compile(rb"'shape': \(\d+, \d+, \d")


def sniff(path: Path, head: bytes) -> bool:
    """NumPy's magic string, in a file of that name: memory-mapped tensors have it too. More than two dimensions are no curves."""
    return head.startswith(b"\x93NUMPY") and path.suffix == ".npy" and not _IMAGES.search(head)


def read(path: Path, resume: Any = None) -> Recording:
    """The array, whole each time: the writer saves it whole."""
    with open_file(path) as file:
        array = read_array(file, os.fstat(file.fileno()).st_size, path, "")
    if array.ndim not in (1, 2) or (array.ndim == 2 and array.shape[1] > MAX_COLUMNS):
        shape = " x ".join(map(str, array.shape)) or "a single number"
        raise Unreadable(path, f"an array of {shape} is no table of curves", "save one row per evaluation")
    index = np.arange(len(array), dtype=float)
    columns = (
        {name_from_file(path) or "value": array}
        if array.ndim == 1
        else {f"column {i + 1}": column for i, column in enumerate(array.T)}
    )
    curves = {name: Curve(index=index, values=np.ascontiguousarray(values)) for name, values in columns.items()}
    return Recording(format="npy", curves=curves)
