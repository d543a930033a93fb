"""Measurements that go on where they were interrupted: what was made is kept, until the code that made it changes."""

import hashlib
import json
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
Row = dict[str, Any]  #: `id`, and what was measured


def kept(path: Path, jobs: Sequence[Any], work: Callable[[Any], Row], processes: int, *code: str) -> list[Row]:
    """The rows of the jobs. Those that the file holds from the same code (folders and files) are not made again."""
    made_from = fingerprint(*code)
    known: dict[str, Row] = {}
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists():
        first, *others = path.read_text().splitlines() or ["{}"]
        if json.loads(first).get("made from") == made_from:
            known = {row["id"]: row for row in map(json.loads, others)}
    if not known:
        path.write_text(json.dumps({"made from": made_from}) + "\n")
    missing = [job for job in jobs if str(job) not in known]
    with path.open("a") as file, ProcessPoolExecutor(processes) as pool:
        for row in pool.map(work, missing, chunksize=8):
            file.write(json.dumps(row) + "\n")
            file.flush()
            known[row["id"]] = row
    return [known[str(job)] for job in jobs]


def fingerprint(*code: str) -> str:
    """Of all code that decides a row: folders and files, from the root."""
    digest = hashlib.sha256()
    for one in code:
        for path in sorted((ROOT / one).rglob("*")) or [ROOT / one]:
            if path.suffix in (".py", ".json", ".toml", ".csv"):
                digest.update(path.read_bytes())
    return digest.hexdigest()
