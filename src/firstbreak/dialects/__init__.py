"""Names -> signals: one file per TRAINER. A dialect knows no file format.

A dialect is a module with

    TITLE: str                         the trainer's name as people write it
    MARKS: frozenset[str]              raw names that only this trainer writes; two or more of them (or one STRONG mark) choose it
    NAMES: dict[str, str | Name]       raw name -> canonical signal; `<x>` in a raw name matches one component and fills `<x>` in the signal
    AXIS: tuple[str, ...]              raw names of the step axis of tables, the best first
    ALGORITHM(curves, config) -> str | None
    CONFIG: dict[str, str]             this trainer's option -> canonical hyperparameter (see hyperparameters.py)
    DEFAULTS: dict[str, Any]           canonical hyperparameter -> the trainer's default, used only where the run does not say
    LOG: dict[str, str]                canonical signal -> how to make this trainer log it (its own option), for "not measured" messages

Unknown names are kept and listed, never dropped in silence.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Name:
    """What a raw name really is. `value * scale` is in the canonical unit and sign of `signal`."""

    signal: str
    scale: float = 1.0
    note: str = ""  #: estimator, window, floor, clamp: whatever changes how the number may be read
