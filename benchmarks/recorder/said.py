"""What is said of a run with the recorder, and of the same run without it."""

from dataclasses import replace
from typing import Any

import firstbreak
from firstbreak.model import Config, Run


def without_recorder(read: Run) -> Run:
    """The run as the trainer alone writes it."""
    raw = {key: value for key, value in read.config.raw.items() if not key.startswith("proof.")}
    series = {name: curve for name, curve in read.series.items() if not name.startswith("proof.")}
    config: Config = replace(read.config, raw=raw)
    return replace(read, series=series, config=config)


def judged(read: Run) -> dict[str, Any]:
    """What is said of a run: whether it is accused, of which link, by which cause."""
    found = firstbreak.diagnose(read)
    top = next((cause.id for cause in found.causes if cause.link is not None), None)
    link = found.first_break.link.value if found.first_break else None
    return {"link": link, "cause": top if link else None, "proof": _proofs(found)}


def _proofs(found: Any) -> list[str]:
    return [o.detector for o in found.outcomes if o.finding is not None and "proof" in o.roles]
