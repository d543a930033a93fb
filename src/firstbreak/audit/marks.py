"""The human-audit set: what people have said of samples, in a JSON file that can be kept, merged and read again.

    {"schema": "firstbreak.marks/1", "marks": {key: {"mark": "keep", "step": 111, "prompt": "...", "completion": "..."}}}

A key is a hash of prompt and completion, so a mark holds for the same text wherever and whenever it turns up again.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstbreak.audit.blind import PolicySample
from firstbreak.readers import Unreadable

KEEP, HACK, UNSURE = "keep", "hack", "unsure"
MARKS = (KEEP, HACK, UNSURE)
SCHEMA = "firstbreak.marks/1"


def key_of(sample: PolicySample) -> str:
    """Sixteen hexadecimal digits that name prompt and completion."""
    text = f"{sample.prompt}\0{sample.completion}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def load(path: Path) -> dict[str, str]:
    """Mark by key. A file that is not there yet holds none. Raises Unreadable where it is no set of marks."""
    if not path.exists():
        return {}
    try:
        found = json.loads(path.read_bytes())
        entries = found["marks"].items() if found["schema"] == SCHEMA else None
        marks = {str(key): entry["mark"] for key, entry in entries or ()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(
            path, f"is no set of marks ({type(error).__name__})", "give a file that the page saved"
        ) from None
    if entries is None or not set(marks.values()) <= set(MARKS):
        raise Unreadable(path, f"is no set of marks of {SCHEMA}", "give a file that the page saved")
    return marks


def save(path: Path, marks: Mapping[str, Any]) -> None:
    """Join marks with those of the file, the new ones in force, None taking one back; at once, or not at all."""
    load(path)  # what is there and is no set of marks is not overwritten
    known = json.loads(path.read_bytes())["marks"] if path.exists() else {}
    joined = {key: entry for key, entry in (known | dict(marks)).items() if entry is not None}
    content = json.dumps({"schema": SCHEMA, "marks": joined}, indent=1)  # ASCII: a lone surrogate has no other bytes
    with tempfile.NamedTemporaryFile("w", dir=path.parent, suffix=".partial", delete=False, encoding="utf-8") as file:
        file.write(content + "\n")
    os.replace(file.name, path)
