"""Thresholds that the user sets: checked against the detectors' own, and collected from where they can be said.

    firstbreak diagnose RUN --set clip-fraction-high.high=0.5

    [thresholds.clip-fraction-high]      # firstbreak.toml, in the current folder or in the run's folder
    high = 0.5

The run's folder counts before the current folder, and `--set` before both.
"""

import math
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from firstbreak.engine.registry import detectors
from firstbreak.model import EMPTY, ChangedThreshold
from firstbreak.readers.names import FILE

SECTION = "thresholds"

Thresholds = Mapping[str, Mapping[str, Any]]  #: detector -> threshold -> value


class BadThreshold(ValueError):
    """A threshold that no detector has, or a value that it cannot take. `str()` of it is one line: place, problem, remedy."""

    def __init__(self, place: str, problem: str, remedy: str) -> None:
        super().__init__(f"{place}: {problem}; {remedy}")


def changed(thresholds: Thresholds, place: str = SECTION) -> tuple[ChangedThreshold, ...]:
    """Every threshold that is set, with its default, in the order of the detectors. Raises `BadThreshold`.

    `place` is where the user has said so.
    """
    for detector in thresholds:
        if detector not in detectors():
            raise BadThreshold(place, f"no detector is called {detector!r}", _near(detector, detectors()))
        if not isinstance(thresholds[detector], Mapping):
            raise BadThreshold(
                place, f"{detector} is no table", f"write [{SECTION}.{detector}] and one line for each threshold"
            )
    return tuple(
        ChangedThreshold(detector=name, name=key, value=_value(name, key, value, place), default=_default(name, key))
        for name in detectors()
        for key, value in thresholds.get(name, EMPTY).items()
    )


def parsed(settings: Iterable[str]) -> Thresholds:
    """`DETECTOR.THRESHOLD=VALUE` of `--set`, the last one of each threshold. Raises `BadThreshold`."""
    found: dict[str, dict[str, Any]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        detector, dot, threshold = name.strip().rpartition(".")
        if not (equals and dot and detector and threshold):
            remedy = "write DETECTOR.THRESHOLD=VALUE, as in clip-fraction-high.high=0.5"
            raise BadThreshold(f"--set {setting}", "not understood", remedy)
        found.setdefault(detector, {})[threshold] = _number(value.strip())
        changed({detector: found[detector]}, f"--set {setting}")
    return found


def for_run(run: str | Path, settings: Thresholds = EMPTY) -> Thresholds:
    """What holds for a run: the current folder's file, then the file of the run's own folder, then `settings`.

    Raises `BadThreshold`.
    """
    place = Path(run)
    folders = dict.fromkeys(folder.absolute() for folder in (Path(), place if place.is_dir() else place.parent))
    merged: dict[str, dict[str, Any]] = {}
    for thresholds in (*(_of_file(folder / FILE) for folder in folders), settings):
        for detector, values in thresholds.items():
            merged.setdefault(detector, {}).update(values)
    return merged


def _of_file(path: Path) -> Thresholds:
    if not path.is_file():
        return EMPTY
    import tomllib

    try:
        content = tomllib.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise BadThreshold(str(path), f"not readable as TOML: {error}", "correct the file, or move it away") from None
    section = content.get(SECTION, EMPTY)
    if not isinstance(section, Mapping):
        raise BadThreshold(
            str(path), f"{SECTION} is no table", f"write [{SECTION}.DETECTOR] and one line for each threshold"
        )
    changed(section, str(path))
    return section


def _value(detector: str, name: str, value: Any, place: str) -> float | int:
    """The value as a number of the default's kind."""
    default = _default(detector, name, place)
    if isinstance(value, bool) or not isinstance(value, int | float) or math.isnan(value):
        raise BadThreshold(place, f"{detector}.{name} is a number, not {value!r}", f"its default is {default}")
    if isinstance(default, int) and not float(value).is_integer():
        raise BadThreshold(place, f"{detector}.{name} is a whole number, not {value}", f"its default is {default}")
    return int(value) if isinstance(default, int) else float(value)


def _default(detector: str, name: str, place: str = SECTION) -> Any:
    known = detectors()[detector].thresholds
    if name not in known:
        raise BadThreshold(place, f"{detector} has no threshold {name!r}", _near(name, known))
    return known[name].default


def _near(name: str, known: Iterable[str]) -> str:
    """The known names that are like this one; all of them where there are few and none is like it."""
    known = list(known)
    import difflib

    if near := difflib.get_close_matches(name, known, n=3, cutoff=0.5):
        return f"did you mean {' or '.join(near)}?"
    if not known:
        return "it has none"
    return f"it has {', '.join(known)}" if len(known) <= 12 else "`firstbreak explain detectors` lists all"


def _number(text: str) -> int | float | str:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
