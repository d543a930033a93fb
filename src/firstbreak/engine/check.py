"""Run -> [Outcome]: give every detector what it asks for, and keep what it says."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from firstbreak import derived, dialects, signals
from firstbreak.engine.registry import Detector, detectors
from firstbreak.model import Expected, Finding, NotApplicable, NotMeasured, Outcome, Run, Series, Status


def check(
    run: Run, *, only: Iterable[str] | None = None, thresholds: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Outcome]:
    """One outcome per detector, in loop order.

    `only` restricts to these detector ids; `thresholds` overrides keyword-only parameters as {detector: {name: value}}.
    A detector that raises costs one outcome with status CRASHED, never the report.
    """
    wanted = detectors() if only is None else {name: detectors()[name] for name in only}
    inputs = Inputs(run)
    return [_examine(d, inputs, (thresholds or {}).get(d.id, {})) for d in wanted.values()]


class Inputs:
    """The inputs of one run by parameter name; derived ones are computed once, when first asked for."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._known: dict[str, Any] = {"run": run, "config": run.config, "samples": run.samples}

    def get(self, name: str) -> Any:
        """The input, or None where the run does not hold it."""
        if name not in self._known:
            self._known[name] = self._derive(name) if name in derived.INPUTS else _signal(self.run, name)
        return self._known[name]

    def _derive(self, name: str) -> Any:
        needs, uses, function = derived.INPUTS[name]
        given = {n: self.get(n) for n in (*needs, *uses)}
        return None if any(given[n] is None for n in needs) else function(**given)


def _signal(run: Run, name: str) -> Series | dict[str, Series] | None:
    signal = signals.BY_PARAMETER[name]
    if "<" not in signal.name:
        series = run.series.get(signal.name)
        return series if series is not None and len(series) else None
    before, after = signal.name.split("<", 1)[0], signal.name.split(">", 1)[1]
    members = {
        key.removeprefix(before).removesuffix(after): series
        for key, series in run.series.items()
        if key.startswith(before) and key.endswith(after) and len(key) > len(before) + len(after)
    }
    return members or None


def _examine(detector: Detector, inputs: Inputs, thresholds: Mapping[str, Any]) -> Outcome:
    def outcome(status: Status, **more: Any) -> Outcome:
        return Outcome(detector=detector.id, link=detector.link, status=status, **more)

    try:
        given = {name: inputs.get(name) for name in (*detector.needs, *detector.uses)}
        missing = [name for name in detector.needs if given[name] is None]
        if missing:
            return outcome(Status.NOT_MEASURED, note="; ".join(_how_to_log(name, inputs.run) for name in missing))
        match detector.detect(**given, **thresholds):
            case None:
                return outcome(Status.OK)
            case Finding() as finding:
                return outcome(Status.FOUND, finding=finding)
            case Expected(why):
                return outcome(Status.OK, note=why, expected=True)
            case NotApplicable(why):
                return outcome(Status.NOT_APPLICABLE, note=why)
            case NotMeasured(why):
                return outcome(Status.NOT_MEASURED, note=why)
            case other:
                raise TypeError(
                    f"a detector returns a Finding, Expected, NotApplicable, NotMeasured or None, not {other!r}"
                )
    except Exception as error:  # one bad detector must not hide what the others see
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(frame.filename).name}:{frame.lineno}"
        return outcome(Status.CRASHED, note=f"{type(error).__name__}: {error} ({place})")


def _how_to_log(name: str, run: Run) -> str:
    """What is missing, in the trainer's own words where they are known."""
    if name in signals.BY_PARAMETER:
        signal = signals.BY_PARAMETER[name].name
        how = dialects.how_to_log(run.trainer, signal)
        return f"{signal} is not logged" + (f": {how}" if how else "")
    if name in derived.INPUTS:
        return derived.missing(name)
    return f"no {name} recorded"
