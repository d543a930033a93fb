"""Results of other harnesses, as protocols and scores. One module for each harness.

A module has `recognises(path, head)`, where `head` holds the first bytes, and `read(path) -> list[Evaluation]` with one
evaluation for each task in the file. A module copies what the file says and guesses nothing: a temperature that was left at
the model's default is unknown, and is left out of the protocol.
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from firstbreak import plugins
from firstbreak.evals.canonical import canonical, digest
from firstbreak.evals.protocol import Protocol, protocol
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass, field

HEAD_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """One evaluation as a harness recorded it."""

    protocol: Protocol
    scores: Mapping[str, float]  #: metric -> value, as the harness reports it
    errors: Mapping[str, float] = field(default_factory=dict)  #: metric -> standard error, where it is reported
    model: str | None = None
    step: float | None = None  #: training step, where the file records it
    source: str = ""


def read(path: Path) -> list[Evaluation]:
    """The evaluations in a file of a known harness. Raises Unreadable for other files."""
    try:
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError as error:
        raise Unreadable(path, error.strerror or str(error), "give a file that an evaluation wrote") from None
    known = plugins.modules(__name__, "recognises")
    for module in known.values():
        if module.recognises(path, head):
            found: list[Evaluation] = module.read(path)
            return found
    raise Unreadable(path, "is not a result of a known harness", f"known harnesses: {', '.join(known)}")


def load(path: Path) -> Any:
    """The JSON of a file."""
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise Unreadable(path, f"is not complete JSON ({error})", "evaluate again, or give the complete file") from None


def made(
    path: str | Path, fields: Mapping[str, Any], remedy: str = "the format has changed: please report this file"
) -> Protocol:
    """The protocol of these fields, without unknown ones (None)."""
    try:
        return protocol({name: value for name, value in fields.items() if value is not None})
    except ValueError as error:
        raise Unreadable(path, str(error), remedy) from None


def key_of(evaluation: Evaluation) -> str:
    """A key that is the same when the same file is imported again."""
    what = [evaluation.protocol.hash, dict(evaluation.scores), evaluation.model, evaluation.step]
    return f"import-{digest(canonical(what))}"


def number(text: Any) -> Any:
    """A number that was written as text, as a number. Other values are returned unchanged."""
    if not isinstance(text, str):
        return text
    for kind in (int, float):
        with suppress(ValueError):
            return kind(text)
    return text
