"""The readings of the field, and the split by repository."""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firstbreak.model import Link

INDEX = Path(__file__).parent / "index.jsonl"
VERDICTS = ("broken", "healthy", "unclear")
PARTS = ("seen", "unseen", "forty")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What one reader said of one public run, before any tool had read it."""

    id: str
    repository: str  #: owner/name
    commit: str  #: 40 hex digits; empty for the text of a thread
    paths: tuple[str, ...]  #: the files that a user would hand over together, or the address of a thread
    blobs: tuple[str, ...]  #: what `git hash-object` says of each
    domain: str  #: language, control
    trainer: str
    verdict: str  #: one of VERDICTS
    link: Link | None  #: the first that broke
    acceptable: tuple[Link, ...]  #: the reader would accept these as well
    onset: float | None  #: in the log's own steps; 0: from the start
    confidence: str  #: high, medium, low
    basis: str  #: curves, config, or said (by the run's owner)
    note: str
    reader: str
    collected: str = ""  #: "forty": public runs that were collected and scored once in November 2026

    @property
    def part(self) -> str:
        """`seen` or `unseen`, by the repository's name alone, or what it was collected for."""
        return self.collected or PARTS[hashlib.sha256(self.repository.lower().encode()).digest()[0] % 2]

    @property
    def accepted(self) -> frozenset[Link]:
        """The links that count as right, strictly or not."""
        return frozenset(self.acceptable) | ({self.link} if self.link else set())


def readings(path: Path = INDEX) -> list[Reading]:
    """All readings. Two readings of one run share the id."""
    return [reading(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]


def reading(row: Mapping[str, Any]) -> Reading:
    """A reading from its JSON. Raises ValueError or TypeError where it is not one."""
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()}
    values["link"] = Link(values["link"]) if values["link"] is not None else None
    values["acceptable"] = tuple(Link(link) for link in values["acceptable"])
    found = Reading(**values)
    if found.verdict not in VERDICTS:
        raise ValueError(f"{found.id}: {found.verdict!r} is none of {', '.join(VERDICTS)}")
    return found


def by_run(found: Iterable[Reading]) -> dict[str, list[Reading]]:
    """id -> the readings of this run."""
    runs: dict[str, list[Reading]] = {}
    for one in found:
        runs.setdefault(one.id, []).append(one)
    return runs
