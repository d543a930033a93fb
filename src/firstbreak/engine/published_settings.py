"""What RL Zoo and CleanRL use for the same algorithm and task, beside the settings of a run: a fact with its source, no evidence.

`published_settings.csv` was made on 2026-11-25 from the files that it names, of rl-zoo3 2.9.2 and of one commit of CleanRL.
"""

import csv
import math
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from firstbreak.engine import environments
from firstbreak.engine.common_settings import in_force
from firstbreak.engine.environments import EnvironmentTask
from firstbreak.model import Run, TunedSetting, TunedSettings
from firstbreak.values import dataclass

TABLE = Path(__file__).with_name("published_settings.csv")
ATARI = "atari"  #: what the sources call all games together
_HORIZONS = frozenset({"gamma", "gae_lambda"})  #: compared by 1 / (1 - value)
SAME = 1.1  #: times as much is the same: a schedule's first logged value is not quite its start (convention)


@dataclass(frozen=True)
class Row:
    """The settings of one source for an algorithm on a task."""

    source: str
    place: str
    algorithm: str
    task: str
    settings: Mapping[str, float]


@cache
def table() -> tuple[Row, ...]:
    """All rows."""
    with TABLE.open(newline="") as lines:
        _heading, *rows = csv.reader(lines)
    return tuple(
        Row(source, place, algorithm, task, _parsed(settings)) for source, place, algorithm, task, settings in rows
    )


def _parsed(settings: str) -> Mapping[str, float]:
    pairs = (pair.split("=") for pair in settings.split())
    return {name: float(value) for name, value in pairs}


def tuned(run: Run) -> tuple[TunedSettings, ...]:
    """The run beside each source that has its algorithm and task. Only what the run recorded is compared."""
    task = environments.of(run.config)
    if task is None or run.algorithm is None:
        return ()
    best: dict[str, Row] = {}
    for row in table():
        if row.algorithm == run.algorithm and (fit := _fit(row.task, task)):
            rival = best.get(row.source)
            if rival is None or fit > _fit(rival.task, task):
                best[row.source] = row
    return tuple(found for row in best.values() if (found := _compared(run, row)) is not None)


def _fit(task: str, of: EnvironmentTask) -> int:
    """How well the task of a row is that of the run: 3 the same, 2 another version of it, 1 any game, 0 not at all."""
    if task == ATARI:
        return int(of.atari)
    named = environments.task(task)
    if named is None or named.name != of.name:
        return 0
    return 2 + (named.version == of.version)


def _compared(run: Run, row: Row) -> TunedSettings | None:
    mine = {
        name: value for name in row.settings if (value := in_force(run, name)) is not None and name != "total_steps"
    }
    apart = {name: _apart(name, value, row.settings[name]) for name, value in mine.items()}
    differ = sorted((name for name in mine if apart[name] > math.log(SAME)), key=lambda name: -apart[name])
    if not mine:
        return None
    spelled = Counter(run.config.option(name) for name in mine)

    def option(name: str) -> str:
        """As the trainer spells it; of two settings that it spells alike, as firstbreak does."""
        return own if spelled[own := run.config.option(name)] == 1 else name

    return TunedSettings(
        source=row.source,
        place=row.place,
        task=row.task,
        differ=tuple(
            TunedSetting(name=name, option=option(name), value=mine[name], tuned=row.settings[name]) for name in differ
        ),
        same=tuple(option(name) for name in mine if name not in differ),
        steps=row.settings.get("total_steps"),
    )


def _apart(name: str, value: float, tuned: float) -> float:
    """How far two values lie apart, as the logarithm of a ratio; what has no ratio lies as far apart as a factor of e."""
    if value == tuned:
        return 0.0
    if name in _HORIZONS:
        value, tuned = (1 / (1 - x) if x < 1 else math.inf for x in (value, tuned))
    if not (0 < value < math.inf and 0 < tuned < math.inf):
        return 1.0
    return abs(math.log(value / tuned))
