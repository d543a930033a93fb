"""A dict in a line, as Python or JSON prints it, on one line or over several.

    {'loss': '0.01', 'grad_norm': 1.2, 'epoch': 0.1}                       HF Trainer, TRL; version 5 quotes numbers
    ... Global step 12: {'policy_loss': 0.1, 'rollout/reward_mean': ...}   OpenRLHF
    ... model.py:904 - step 12: {'train/loss': np.float64(0.1), ...}       slime (step, rollout, perf, eval, ...)
    {"loss": 0.1, "global_step/max_steps": "12/547", ...}                  ms-swift
    stats: {'objective/kl': array([0.1, 0.2]), ...}                        TRL up to 0.11; the mean of an array
    [{'step': 1, 'loss': 0.5}, {'step': 2, ...}]                           a history that was printed at the end
    metrics_tag: {"step": 12, "metrics": {...}}                            ROLL
    Step 12:  + a dict over several lines                                  SkyRL

The step is the last `step 12`-like word before the dict, or the dict's own `step`. A dict behind a word such as
"config" or "args", or one over several lines without a step, holds hyperparameters; a loss or reward beside a step or
an epoch was logged.
"""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.readers._columns import as_float, leaves, of_group, progress, under_its_set
from firstbreak.readers._literal import Array, number, parse
from firstbreak.readers.console._reading import NOTHING, LineKind, ParsedLine

MAX_LINES = 5000  #: of one dict
TERMINAL = range(60, 500)  #: characters in a line (convention)
_OPENING = re.compile(r"""\{(?=\s*(?:['"]|$))""")
_CONTINUES = re.compile(r"""[\s'"{}\[\]),]""")
_STEP = re.compile(
    r"\b(?:global[ _]step|step|iteration|iter|rollout|perf|eval|multi_turn|passrate|update|episode)[ :=#]*(\d+)",
    re.IGNORECASE,
)
_CONFIG = re.compile(r"config|\bcfg\b|\b(?:kw)?args\b|meta info|arguments|hyper|param|setting|options", re.IGNORECASE)
_METRIC = re.compile(r"(?:^|/)(?:eval_)?(?:loss|rewards?)(?:/|$)")
_COUNTED = ("step", "global_step", "_step", "epoch", "iteration", "episode", "update")
_STEP_KEYS = ("step", "global_step", "_step")
_ENVELOPES = ("metrics", "data")


class DictLines:
    """Dicts of lines; it remembers one that is not closed yet."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.depth = 0
        self.before = ""  #: the text before the open dict
        self.width = 0  #: characters of its first line
        self.title = ""  #: the previous line, where it ends in ":"

    def read(self, line: str) -> ParsedLine | None:
        """A whole row, or hyperparameters, when the dict is closed."""
        if self.open:
            return self._go_on(line)
        title, self.title = self.title, line if line.rstrip().endswith(":") else ""
        found = _OPENING.search(line) if "{" in line else None
        if found is None:
            return None
        text, before = line[found.start() :], line[: found.start()] or title
        end = text.rfind("}") + 1
        if end and text.count("{") == text.count("}"):
            return _reading(text[:end], before, several_lines=False)
        self.depth = text.count("{") - text.count("}")
        if self.depth <= 0:
            return None
        self.open, self.before, self.width = [text], before, len(line)
        return NOTHING

    def _go_on(self, line: str) -> ParsedLine | None:
        # a terminal wraps lines at its width, where it may lose a blank
        wrapped = self.width in TERMINAL and all(len(text) >= self.width - 1 for text in self.open[1:])
        if not wrapped and not _CONTINUES.match(line):  # the dict was cut, or another rank broke in
            self.open = []
            return self.read(line)
        self.open.append(line)
        self.depth += line.count("{") - line.count("}")
        if self.depth > 0 and len(self.open) < MAX_LINES:
            return NOTHING
        lines, self.open = self.open, []
        text = ("" if wrapped else "\n").join(lines)
        return _reading(text[: text.rfind("}") + 1], self.before, several_lines=not wrapped)


def _reading(text: str, before: str, several_lines: bool) -> ParsedLine | None:
    try:
        record = parse(text)
    except ValueError:
        return None
    if not isinstance(record, Mapping):
        return None
    step = _step_in(before)
    logged = not several_lines or step is not None or before.rstrip().endswith("stats:") or _is_logged(record)
    if _CONFIG.search(before) or not logged:
        return ParsedLine(config=dict(leaves(record, ".")), kind=LineKind.BREAK)
    if "train_runtime" in record:  # the HF Trainer's summary of the run is no point of a curve
        return ParsedLine(kind=LineKind.BREAK)
    flat = under_its_set(_unwrapped(record)) if "_runtime" in text else _unwrapped(record)
    values = _numbers(flat)
    if not values:
        return None
    if step is None:
        step = next((values[key] for key in _STEP_KEYS if key in values), None)
    return ParsedLine(values, step, nulls=frozenset(str(name) for name, value in flat.items() if value is None))


def _is_logged(record: Mapping[str, Any]) -> bool:
    """Whether a pretty-printed dict is a row of a log: somebody copied it from a notebook or a page."""
    return any(key in record for key in _COUNTED) and any(
        _METRIC.search(str(name)) and isinstance(value, (int, float)) for name, value in record.items()
    )


def _unwrapped(record: Mapping[str, Any]) -> Mapping[str, Any]:
    """{"step": N, "metrics": {...}} as one flat record."""
    for key in _ENVELOPES:
        inner = record.get(key)
        if isinstance(inner, Mapping) and record.keys() <= {key, *_STEP_KEYS}:
            return {**{k: v for k, v in record.items() if k != key}, **inner}
    return record


def _step_in(before: str) -> float | None:
    words = _STEP.findall(before)
    return float(words[-1]) if words else None


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    nested = any(isinstance(value, Mapping) for value in record.values())
    values = {}
    for name, leaf in leaves(record, "/") if nested else record.items():
        if isinstance(leaf, str) and (counted := progress(str(name), leaf)):
            name, leaf = counted
        value = number(leaf) if isinstance(leaf, str) else leaf
        value = _mean(value) if isinstance(value, Array) else value
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if group := of_group(str(name), value):
            values.update(group)
            continue
        if isinstance(value, (int, float)):
            values[str(name)] = as_float(value)
    return values


def _mean(array: Array) -> float | None:
    try:
        return float(np.mean(np.array(array, dtype=float))) if array else None
    except (ValueError, TypeError):
        return None


def apart(line: str) -> list[str]:
    """The dicts of a list that was printed in one line, where each of them counts something; else the line itself."""
    dicts = re.split(r"(?<=\}), *(?=\{)", line[1:-1]) if line.startswith("[{") and line.endswith("}]") else [""]
    whole = all(text.count("{") == text.count("}") and any(f"'{name}'" in text for name in _COUNTED) for text in dicts)
    return dicts if whole else [line]
