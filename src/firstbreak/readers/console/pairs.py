"""Everything else that prints names and numbers.

global_step=1234, episodic_return=[21.]            CleanRL
INFO - Epoch 1/3, Step 10, Loss: 0.0012            hand-written loops
episode: 12 | reward = 31.0 | eps = 0.05
SPS: 812
"""

from __future__ import annotations

import re

from firstbreak.readers.console._reading import VALUE, Kind, Reading, scaled

_COUNTER = re.compile(
    r"""\b(?P<name> (?:(?:global|total|train)[_ ])?
        (?P<unit>step|timestep|frame|iteration|iter|update|episode|ep|epoch) s? )\b [ :=#]* \[? (?P<count>\d+)""",
    re.VERBOSE | re.IGNORECASE,
)
#: The finer counter is the better step; one of the whole run ("global step") beats all.
_RANKS = {
    "step": 1,
    "timestep": 1,
    "frame": 1,
    "iteration": 2,
    "iter": 2,
    "update": 2,
    "episode": 3,
    "ep": 3,
    "epoch": 4,
}
_ASSIGNED = re.compile(rf"[:=] ?{VALUE}(?=[\s,;|)\]}}]|\.?$)")
_NAME = re.compile(r"(?<![\w./@-])[A-Za-z_][\w/@%+-]*(?: [A-Za-z_(][\w/@%()+-]*){0,3} ?$")
_NAME_LENGTH = 80
_LEVEL = re.compile(r"(?:INFO|DEBUG|WARNING|ERROR|TRACE|SUCCESS) +")
_MAX_LINE = 10_000  # longer lines are dumps of tensors or text, not a handful of metrics


def read(line: str) -> Reading | None:
    """A whole row: with its step, if the line has a counter; a weak one without."""
    if (":" not in line and "=" not in line) or len(line) > _MAX_LINE:
        return None
    values = _pairs(line)
    if not values:
        return None
    counters = sorted(_COUNTER.finditer(line), key=_rank)
    if not counters:
        return _weak(line, values)
    steps = {found["name"]: float(found["count"]) for found in counters}
    if values.keys() <= steps.keys():
        return None
    best = counters[0]
    return Reading({**steps, **values}, steps[best["name"]], rank=_rank(best))


def _rank(counter: re.Match[str]) -> int:
    return 0 if counter["name"][:5].lower() in ("globa", "total", "train") else _RANKS[counter["unit"].lower()]


def _pairs(line: str) -> dict[str, float]:
    """Every `name: number` and `name = number`."""
    values = {}
    start = 0
    for assigned in _ASSIGNED.finditer(line):
        before = line[max(start, assigned.start() - _NAME_LENGTH) : assigned.start()]
        start = assigned.end()
        if name := _NAME.search(before):
            values[_LEVEL.sub("", name[0], count=1).rstrip()] = scaled(assigned)
    return values


def _weak(line: str, values: dict[str, float]) -> Reading | None:
    """Numbers without a step: several in one line, or a line that is nothing but `name: number`."""
    if len(values) > 1:
        return Reading(values, weak=True)
    (name,) = values
    solo = re.match(r"\s*[:=]", line.strip()[len(name) :]) and len(line.split()) <= len(name.split()) + 2
    return Reading(values, kind=Kind.FRAGMENT, weak=True) if solo and line.lstrip().startswith(name) else None
