"""`firstbreak-context.json`: what the run was made with. Its configuration counts like that of any other file."""

from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import leaves
from firstbreak.readers.opening import CONTEXT

DESCRIPTION = "firstbreak-context.json, written by firstbreak.context.record"
FILES = (CONTEXT,)
PRIORITY = 20
MAX_NODES = 200_000


def sniff(path: Path, head: bytes) -> bool:
    """The file's own name."""
    return path.name == CONTEXT


def read(path: Path, resume: Any = None) -> Recording:
    """The configuration with its seeds, and one note on the code."""
    from firstbreak import context  # brings what looks at the machine

    found = context.load(path)
    if found is None:
        raise Unreadable(path, "is gone", "record the context again")
    code = found.code
    changes = ", with changes that are not committed" if code.dirty else ""
    return Recording(
        format="context_file",
        config=dict(found.seeds) | dict(leaves(found.config, ".", MAX_NODES)),
        notes=[f"made by commit {code.commit[:12]}{changes}"] if code.commit else [],
    )
