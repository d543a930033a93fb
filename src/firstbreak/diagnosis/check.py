"""Run -> [Outcome]: every detector is asked about the run."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from firstbreak import dialects
from firstbreak.diagnosis.checks import run_check
from firstbreak.diagnosis.inputs import DERIVED, Inputs
from firstbreak.diagnosis.registry import detectors
from firstbreak.diagnosis.thresholds import Thresholds, changed
from firstbreak.dialects import signals
from firstbreak.model import EMPTY, Outcome, Run


class OfRun(Inputs):
    """A run as a check asks about it."""

    def missing(self, name: str) -> str:
        """What is missing, in the trainer's own words where they are known."""
        if name in signals.BY_PARAMETER:
            signal = signals.BY_PARAMETER[name].name
            how = dialects.how_to_log(self.run.trainer, signal)
            return f"{signal} is not logged" + (f": {how}" if how else "")
        return DERIVED[name].missing if name in DERIVED else f"no {name} recorded"


def check(run: Run, *, only: Iterable[str] | None = None, thresholds: Thresholds = EMPTY) -> list[Outcome]:
    """One outcome per detector, in loop order.

    `only` restricts to these detector ids; `thresholds` sets thresholds, as {detector: {name: value}}. Raises `BadThreshold`
    where a detector or a threshold of that name does not exist.
    """
    given: dict[str, dict[str, float]] = {}
    for one in changed(thresholds):
        given.setdefault(one.detector, {})[one.name] = one.value
    wanted = detectors() if only is None else {name: detectors()[name] for name in only}
    about = OfRun(run)
    with np.errstate(all="ignore"):  # a log may hold 1e300, whose square is no news to the user
        return [run_check(d, about, given.get(d.id, EMPTY)) for d in wanted.values()]
