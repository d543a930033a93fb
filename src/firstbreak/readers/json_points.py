"""JSON that holds every metric as a list of points: `{"metrics": {"reward": [{"step": 1, "value": 0.5}, ...]}}`.

The lists may lie deeper; the keys on the way are parts of the name (`eval/reward`), unless they only say what follows
("metrics", "scalars"). Where the same metrics come again below other keys, or in the elements of a list, these are runs:
`results.json#baseline` is one of them.
"""

import re
from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import COUNTERS, Columns, as_float, leaves, split_prefix
from firstbreak.readers._json import loads
from firstbreak.readers._sqlite import choose, labels, split
from firstbreak.readers.opening import read_whole

DESCRIPTION = "JSON with a list of {step, value} for each metric, of one run or of several"
FILES = ("*.json",)
PRIORITY = 5
MAX_BYTES = 1 << 28
MAX_DEPTH = 8

_POINT = re.compile(
    rb'\[\s*\{\s*"(?:\w*step\w*|iteration|epoch|episode|timestep)"\s*:\s*"?-?[\d.]+"?\s*,[^{}\[\]]{0,200}?"value"\s*:'
    rb'|\[\s*\{[^{}\[\]]{0,200}?"value"\s*:[^{}\[\]]{0,200}?"(?:\w*step|iteration|epoch|episode)"\s*:'
)
_ENVELOPES = frozenset(
    {"metrics", "metric", "scalars", "series", "curves", "history", "data", "runs", "results", "logs"}
)
_NAMES_OF_RUNS = ("run", "run_name", "name", "run_id", "id", "experiment")

Keys = tuple[str, ...]


def sniff(path: Path, head: bytes) -> bool:
    """A .json file whose beginning holds a list of {step, value}."""
    return path.suffix.lower() == ".json" and _POINT.search(head) is not None


def runs(path: Path) -> list[str]:
    """The runs of the file, as `read(Path("results.json#run"))` takes them; none where it is cut."""
    try:
        return list(labels(_names(_runs(split(path)[0]))).values())
    except Unreadable:
        return []


def read(path: Path, resume: Any = None) -> Recording:
    """One run, whole each time."""
    file, wanted = split(path)
    found = _runs(file)
    if not found:
        raise Unreadable(file, "holds no list of {step, value}", "check that it is whole")
    run = choose(file, wanted, _names(found)) if len(found) > 1 or wanted is not None else next(iter(found))
    columns = Columns(quoted=True)
    axes = set()
    for name, points, axis in found[run]:
        axes.add(axis)
        for point in points:
            columns.add_object(name, as_float(point[axis]), point["value"])
    return Recording(
        format="json_points",
        curves=columns.curves(),
        nulls=columns.nulls(),
        indexed_by="step",
        axis=axes.pop() if len(axes) == 1 else "",
        config=_config(file, run),
        notes=columns.notes(),
    )


Points = list[tuple[str, list[dict[str, Any]], str]]  #: name, points, the key of their step


def _tree(file: Path) -> Any:
    try:
        return loads(read_whole(file, MAX_BYTES))
    except ValueError:
        raise Unreadable(file, "is no whole JSON", "copy or export the file again") from None


def _runs(file: Path) -> dict[str, Points]:
    """The curves of each run, by its name; a file of one run has one, without a name."""
    found = list(_curves(_tree(file), ()))
    metrics = [path[-1] for path, _, _ in found]
    several = len(set(metrics)) < len(metrics)
    named = [(_run_of(path[:-1]) if several else "", path, points, axis) for path, points, axis in found]
    return {
        run: [(_name(path, several), points, axis) for _, path, points, axis in group]
        for run, group in groupby(sorted(named, key=lambda item: item[0]), key=lambda item: item[0])
    }


def _names(found: Mapping[str, Points]) -> dict[str, str]:
    return {run: run or "run" for run in found}


def _run_of(keys: Keys) -> str:
    return "/".join(key for key in keys if key.lower() not in _ENVELOPES and not _part(key))


def _name(path: Keys, several: bool) -> str:
    keys = [key for key in path[:-1] if key.lower() not in _ENVELOPES and (_part(key) or not several)]
    return "/".join((*keys, path[-1]))


def _part(key: str) -> bool:
    """Whether a key says on which data a metric was made, so that it tells no runs apart."""
    return bool(split_prefix(key)) or key.lower() in {"train", "training"}


def _curves(tree: Any, path: Keys) -> Iterator[tuple[Keys, list[dict[str, Any]], str]]:
    if len(path) > MAX_DEPTH:
        return
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _curves(value, (*path, key))
    elif isinstance(tree, list) and tree:
        if axis := _axis(tree):
            if path:
                yield path, tree, axis
            return
        for place, element in enumerate(tree):
            if isinstance(element, dict):
                yield from _curves(element, (*path, _called(element, place)))


def _axis(points: list[Any]) -> str | None:
    """The key of the step, where all elements are points."""
    first = points[0]
    if not isinstance(first, dict) or "value" not in first:
        return None
    axis = next((key for key in first if key.lower() in COUNTERS - {"time", "timestamp"}), None)
    whole = all(
        isinstance(point, dict) and "value" in point and isinstance(point.get(axis), (int, float)) for point in points
    )
    return axis if whole else None


def _called(element: Mapping[str, Any], place: int) -> str:
    name = next((element[key] for key in _NAMES_OF_RUNS if isinstance(element.get(key), (str, int))), place)
    return str(name)


def _config(file: Path, run: str) -> dict[str, Any]:
    """The options at the top of a file of one run."""
    tree = _tree(file)
    options = tree.get("config") if isinstance(tree, dict) and not run else None
    return dict(leaves(options, ".")) if isinstance(options, dict) else {}
