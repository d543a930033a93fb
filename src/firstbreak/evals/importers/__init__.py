"""What other harnesses write, as protocols and scores: one module for each.

A module has `recognises(path, head)` (the first bytes are given) and `read(path) -> list[Evaluation]`, one for each task
in the file. It takes over what the file says and fills nothing in: a temperature that was left to the model's own
default is not known, and stays out of the protocol.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firstbreak.evals.canonical import digest
from firstbreak.evals.protocol import Protocol, protocol
from firstbreak.readers import Unreadable

HEAD_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """One evaluation as a harness wrote it down."""

    protocol: Protocol
    scores: Mapping[str, float]  #: metric -> value, as the harness reports it
    errors: Mapping[str, float] = field(default_factory=dict)  #: metric -> standard error, where it is reported
    model: str | None = None
    step: float | None = None  #: of training, where the file knows it
    source: str = ""


def read(path: Path) -> list[Evaluation]:
    """The evaluations in a file that a known harness wrote. Raises Unreadable otherwise."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error), "give a file that an evaluation wrote") from None
    names = sorted(module.name for module in pkgutil.iter_modules(__path__))
    for name in names:
        module = importlib.import_module(f"{__name__}.{name}")
        if module.recognises(path, head):
            found: list[Evaluation] = module.read(path)
            return found
    raise Unreadable(path, "is written by no known harness", f"known are {', '.join(names)}")


def load(path: Path) -> Any:
    """The JSON of a file."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise Unreadable(path, f"is not whole JSON ({error})", "evaluate again, or give the whole file") from None


def made(path: Path, fields: Mapping[str, Any]) -> Protocol:
    """The protocol of these fields, without those that the file leaves open (None)."""
    try:
        return protocol({name: value for name, value in fields.items() if value is not None})
    except ValueError as error:
        raise Unreadable(path, str(error), "report it: the format has changed") from None


def key_of(evaluation: Evaluation) -> str:
    """What makes an evaluation the same when its file is imported again."""
    from firstbreak.evals.canonical import canonical

    what = [evaluation.protocol.hash, dict(evaluation.scores), evaluation.model, evaluation.step]
    return f"import-{digest(canonical(what))}"


def number(text: Any) -> Any:
    """A number that was written as text, as a number; everything else as it is."""
    if not isinstance(text, str):
        return text
    try:
        return int(text)
    except ValueError:
        try:
            return float(text)
        except ValueError:
            return text
