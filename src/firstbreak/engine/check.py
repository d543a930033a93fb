"""Run -> [Outcome]: give every detector what it asks for, and keep what it says."""

from __future__ import annotations

import re
import traceback
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak import dialects, signals
from firstbreak.engine.registry import Detector, detectors
from firstbreak.inputs import DERIVED, OF_SAMPLING, Inputs, missing
from firstbreak.model import Expected, Finding, NotApplicable, NotMeasured, Outcome, Run, Status


def check(
    run: Run, *, only: Iterable[str] | None = None, thresholds: Mapping[str, Mapping[str, Any]] | None = None
) -> list[Outcome]:
    """One outcome per detector, in loop order.

    `only` restricts to these detector ids; `thresholds` overrides keyword-only parameters as {detector: {name: value}}.
    A detector that raises costs one outcome with status CRASHED, never the report.
    """
    wanted = detectors() if only is None else {name: detectors()[name] for name in only}
    inputs = Inputs(run)
    with np.errstate(all="ignore"):  # a log may hold 1e300, whose square is no news to the user
        return [_examine(d, inputs, (thresholds or {}).get(d.id, {})) for d in wanted.values()]


def _examine(detector: Detector, inputs: Inputs, thresholds: Mapping[str, Any]) -> Outcome:
    def outcome(status: Status, **more: Any) -> Outcome:
        return Outcome(detector=detector.id, link=detector.link, status=status, **more)

    try:
        if detector.link in OF_SAMPLING and inputs.get("supervised"):
            return outcome(Status.NOT_APPLICABLE, note=ONLY_BY_REWARD)
        given = {name: inputs.get(name) for name in (*detector.needs, *detector.uses)}
        absent = [name for name in detector.needs if given[name] is None]
        if absent and (why := _other_kind(absent, inputs)):
            return outcome(Status.NOT_APPLICABLE, note=why)
        if absent:
            return outcome(Status.NOT_MEASURED, note="; ".join(_how_to_log(name, inputs.run) for name in absent))
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


#: signals and derived inputs that only policies have which write text, and those of policies that act in an environment
OF_TEXT = re.compile(r"length_|truncation|rollout_train_|behave_|staleness|turns_|tool|diversity")
OF_ENVIRONMENTS = re.compile(r"env_|episode_length")
#: and what supervised training may record as well
OF_SUPERVISED = re.compile(r"(eval_)?loss|sft_|grad_norm|lr$|time_|throughput_|memory_|tokens_|optim_|perf_")
ONLY_BY_REWARD = "only where a policy learns from its own samples: this is supervised training"


def _other_kind(absent: Sequence[str], inputs: Inputs) -> str:
    """Why such a run cannot have what is absent, if it cannot: it is of the other kind."""
    if inputs.get("supervised"):
        return "" if all(map(OF_SUPERVISED.match, absent)) else ONLY_BY_REWARD
    if inputs.get("writes_text"):
        return "only for policies that act in an environment" if any(map(OF_ENVIRONMENTS.match, absent)) else ""
    acts = inputs.get("family") == "value_based" or {"episode.length", "reward.episode"} & inputs.run.series.keys()
    return "only for policies that write text" if acts and any(map(OF_TEXT.match, absent)) else ""


def _how_to_log(name: str, run: Run) -> str:
    """What is missing, in the trainer's own words where they are known."""
    if name in signals.BY_PARAMETER:
        signal = signals.BY_PARAMETER[name].name
        how = dialects.how_to_log(run.trainer, signal)
        return f"{signal} is not logged" + (f": {how}" if how else "")
    if name in DERIVED:
        return missing(name)
    return f"no {name} recorded"
