"""The marks of people on samples, in a JSON file that can be merged and read again.

    {"schema": "firstbreak.marks/1", "marks": {key: {"mark": "keep", "step": 111, "prompt": "...", "completion": "..."}}}

A key is a hash of prompt and completion, so a mark is valid for the same text in any dump.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstbreak.audit.split_truth import PolicySample
from firstbreak.readers import Unreadable
from firstbreak.readers.opening import read_whole
from firstbreak.written import write

KEEP, HACK, UNSURE = "keep", "hack", "unsure"
MARKS = (KEEP, HACK, UNSURE)
SCHEMA = "firstbreak.marks/1"
MOST_BYTES = 1 << 26  #: of a marks file


def key_of(sample: PolicySample) -> str:
    """Sixteen hexadecimal digits: a hash of prompt and completion."""
    text = f"{sample.prompt}\0{sample.completion}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def load(path: Path) -> dict[str, str]:
    """Mark by key; empty for a missing file. Raises Unreadable where the file is not a marks file."""
    if not os.path.lexists(path):
        return {}
    try:
        found = json.loads(read_whole(path, MOST_BYTES))
        entries = found["marks"].items() if found["schema"] == SCHEMA else None
        marks = {str(key): entry["mark"] for key, entry in entries or ()}
        known = set(marks.values()) <= set(MARKS)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(path, f"is not a marks file ({type(error).__name__})", "give what the page saved") from None
    if entries is None or not known:
        raise Unreadable(path, f"is not a marks file of {SCHEMA}", "give a file that the page saved")
    return marks


def save(path: Path, marks: Mapping[str, Any]) -> None:
    """Merge marks into the file, atomically. New marks replace old ones, and None removes a mark."""
    load(path)  # raises for another file, so that it is not overwritten
    known = json.loads(read_whole(path, MOST_BYTES))["marks"] if path.exists() else {}
    joined = {key: entry for key, entry in (known | dict(marks)).items() if entry is not None}
    content = json.dumps({"schema": SCHEMA, "marks": joined}, indent=1)  # ASCII: a lone surrogate has no other bytes
    write(path, f"{content}\n".encode())
