"""The diagnosis for programs: strict JSON (RFC 8259), valid under `diagnosis.schema.json`.

A number that JSON cannot hold is null where the schema requires a number. Where the schema allows any value, the number is
the string "NaN", "Infinity" or "-Infinity".
"""

import enum
import json
import math
from collections.abc import Iterable, Mapping
from importlib import resources
from typing import Any

import numpy as np

from firstbreak.dialects.hyperparameters import own_option
from firstbreak.masking import by_look
from firstbreak.model import (
    BestCheckpoint,
    Diagnosis,
    EarlierRuns,
    Evidence,
    Experiment,
    Fact,
    FirstBreak,
    Interval,
    Link,
    Outcome,
    RankedCause,
    Run,
    TunedSettings,
)
from firstbreak.reports import content, reference

SCHEMA = "firstbreak.diagnosis/1"


def render(dx: Diagnosis) -> str:
    """One object."""
    return dump(payload(dx))


def render_all(diagnoses: Iterable[Diagnosis]) -> str:
    """A list of objects, one for each diagnosis."""
    return dump([payload(dx) for dx in diagnoses])


def dump(value: Any) -> str:
    """Strict JSON, indented, in pure ASCII, safe for terminals and for any encoding."""
    return json.dumps(value, indent=2, allow_nan=False)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of every payload."""
    text = resources.files("firstbreak.reports").joinpath("diagnosis.schema.json").read_text("utf-8")
    loaded: dict[str, Any] = json.loads(text)
    return loaded


def payload(dx: Diagnosis) -> dict[str, Any]:
    """The diagnosis in plain dicts, lists, strings, numbers and None."""
    score, best, cost = dx.score, dx.best_checkpoint, dx.cost
    return {
        "schema": SCHEMA,
        "run": _run(dx.run),
        "verdict": fields(dx.verdict, "action", "summary", "upside", "risk", "do_first", "known"),
        "score": None if score is None else fields(score, *_OF_A_SCORE) | {"others": plain(score.others)},
        "harm": dx.harm.value,
        "relations": dict(zip(("hold", "broken"), map(list, content.relations(dx.outcomes)), strict=True)),
        "first_break": None if dx.first_break is None else _first_break(dx.first_break),
        "causes": [_cause(cause, dx.run) for cause in dx.causes],
        "findings": [finding_payload(outcome) for outcome in dx.findings],
        "links": {link.value: fields(dx.links[link], "status", "why") for link in Link},
        "best_checkpoint": None if best is None else _best(best),
        "cost": None if cost is None else fields(cost, "steps", "fraction", "hours", "money"),
        "forecasts": [fields(forecast, "metric", "level", "name", "within") for forecast in dx.forecasts],
        "expected": [text(line) for line in dx.expected],
        "outcomes": [outcome_payload(outcome) for outcome in dx.outcomes],
        "suppressed": 0,  # no finding is left out; readers of this schema expect the key
        "thresholds": [
            {"detector": t.detector, "name": t.name, "value": plain(t.value), "default": plain(t.default)}
            for t in dx.thresholds
        ],
        **({} if dx.baseline is None else {"baseline": _baseline(dx.baseline)}),
        **({"tuned": [_tuned(one) for one in dx.tuned]} if dx.tuned else {}),
    }


_OF_A_SCORE = ("metric", "why", "course", "start", "best", "best_step", "end", "error", "lost")
_OF_A_DEPARTURE = ("link", "metric", "step", "value", "seen", "band", "side", "size")


def _tuned(tuned: TunedSettings) -> dict[str, Any]:
    return {
        **fields(tuned, "source", "place", "task"),
        "differ": [fields(b, "name", "option", "value") | {"tuned": b.tuned} for b in tuned.differ],
        "same": [text(option) for option in tuned.same],
        "steps": tuned.steps,
    }


def _baseline(baseline: EarlierRuns) -> dict[str, Any]:
    return {
        **fields(baseline, "runs", "left_out", "compared"),
        "false_alarms": baseline.false_alarms,
        "score": None if baseline.score is None else fields(baseline.score, *_OF_A_DEPARTURE),
        "departures": [fields(departure, *_OF_A_DEPARTURE) for departure in baseline.departures],
    }


def fields(thing: Any, *names: str) -> dict[str, Any]:
    """These attributes of an object: texts without secrets, finite numbers or None, values of an enum, and lists of them."""
    return {name: _field(getattr(thing, name)) for name in names}


def _field(value: Any) -> Any:
    match value:
        case None | bool():
            return value
        case enum.Enum():
            return value.value
        case str():
            return text(value)
        case int() | float() | np.number():
            return number(float(value))
        case _:
            return [_field(item) for item in value]


def plain(value: Any) -> Any:
    """Any value of a config or of the facts of a finding, as valid JSON."""
    match value:
        case None | bool():
            return value
        case np.ndarray():
            return plain(value.tolist())
        case np.generic():
            return plain(value.item())
        case enum.Enum():
            return plain(value.value)
        case str():
            return text(value)
        case int():
            return value
        case float():
            return value if math.isfinite(value) else _NON_FINITE[str(value)]
        case Mapping():
            return {text(str(key)): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case set() | frozenset():
            return sorted((plain(item) for item in value), key=str)
        case _:
            return text(str(value))


_NON_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def text(value: str) -> str:
    """`value` without secrets, and without lone surrogates (of a file name that is no UTF-8), which strict readers refuse."""
    return by_look(value).encode("utf-8", "backslashreplace").decode("utf-8")


def number(value: float | None) -> float | None:
    """A finite number, whole where it is whole, or None."""
    if value is None or not math.isfinite(value):
        return None
    value = float(value)
    return int(value) if value.is_integer() and abs(value) < 2**53 else value


def _interval(interval: Interval | None) -> list[float | None] | None:
    if interval is None or not all(map(math.isfinite, interval)):
        return None
    return [number(end) for end in interval]


def of_a_run(run: Run) -> dict[str, Any]:
    """Where a run lies, who wrote it, and how far it goes."""
    known = fields(run, "trainer", "algorithm", "first_step", "last_step")
    return {"path": text(run.path), "format": _field(run.formats), **known}


def _run(run: Run) -> dict[str, Any]:
    return {
        **of_a_run(run),
        "metrics": _field(run.series),
        "not_understood": _field(run.unknown),
        **fields(run, "files", "damage", "notes"),
    }


def _first_break(first: FirstBreak) -> dict[str, Any]:
    return {
        **fields(first, "link", "kind", "or_earlier", "metric", "step"),
        "interval": _interval(first.interval),
        "also": [link.value for link in first.links[1:]],
        "probability": number(first.probability),
    }


def _cause(cause: RankedCause, run: Run) -> dict[str, Any]:
    return {
        **fields(cause, "id", "title", "link", "probability"),
        "evidence": [fields(weight, "finding", "weight", "text") for weight in cause.evidence],
        "total_weight": number(math.fsum(w.weight for w in cause.evidence)),
        "fix": [text(line) for line in cause.fix],
        "experiment": None if cause.experiment is None else _experiment(cause.experiment, run),
        **_doc(cause.id),
    }


def _doc(name: str) -> dict[str, str]:
    """The page of a detector or a cause, where the environment names a site."""
    address = reference.address(name)
    return {} if address is None else {"doc": text(address)}


def _experiment(experiment: Experiment, run: Run) -> dict[str, Any]:
    return {
        "id": text(experiment.id),
        "command": text(content.command(run, experiment)),
        "text": text(experiment.text),
        "overrides": plain(experiment.overrides),
        "options": {text(name): text(o) for name in experiment.overrides if (o := own_option(name, run)) is not None},
        **fields(experiment, "measure", "if_cause"),
    }


def _stated(fact: Fact) -> dict[str, Any]:
    begin, end = fact.window
    return {**fields(fact, "curve", "statistic"), "from": number(begin), "to": number(end), "value": number(fact.value)}


def finding_payload(outcome: Outcome) -> dict[str, Any]:
    """The finding of one detector or probe."""
    finding = content.found(outcome)
    return {
        **fields(outcome, "detector", "link"),
        **fields(finding, "severity", "confidence", "metric", "onset"),
        "interval": _interval(finding.interval),
        "message": text(finding.message),
        "evidence": {
            "facts": plain(finding.numbers),
            "shown": [_evidence(item) for item in finding.evidence],
            "stated": [_stated(fact) for fact in finding.stated],
        },
        **_doc(outcome.detector),
    }


def _evidence(evidence: Evidence) -> dict[str, Any]:
    series = evidence.series
    return {
        "text": text(evidence.text),
        "metric": None if series is None else text(series.name),
        "raw": None if series is None else text(series.raw),
        "source": None if series is None else text(series.source),
        **fields(evidence, "since", "until", "level"),
    }


def outcome_payload(outcome: Outcome) -> dict[str, Any]:
    """The outcome of one detector or probe."""
    return fields(outcome, "detector", "link", "status", "note")


def _best(best: BestCheckpoint) -> dict[str, Any]:
    return {
        "step": number(best.step),
        "saved_step": number(best.saved),
        "metric": text(best.metric),
        "value": plain(best.value),
        "path": None if best.path is None else text(best.path),
    }
