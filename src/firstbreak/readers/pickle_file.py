"""Pickles of rollouts and training arguments, which are refused: opening a pickle runs the code in it."""

import re
from pathlib import Path
from typing import Any

from firstbreak.readers import Recording, Unreadable

DESCRIPTION = "pickles of rollouts or arguments (slime, SkyRL, TRL): named, never opened"
FILES = ("training_args.bin", "*.pt", "*.pth", "*.pkl", "*.pickle")

_DUMP = re.compile(r"rollout|train_data|training_input|dumped_data|completions|samples|trajector", re.IGNORECASE)
_SUFFIXES = frozenset({".pt", ".pth", ".pkl", ".pickle"})
_ARGUMENTS = "training_args.bin"  #: transformers saves one beside every model
_DANGER = "is a pickle, which could run any code when opened"


def sniff(path: Path, head: bytes) -> bool:
    """Named like a dump; models and optimizers are pickles too, but nobody expects them to be read."""
    named = any(map(_DUMP.search, (path.name, path.parent.name)))
    return path.name == _ARGUMENTS or (path.suffix in _SUFFIXES and named)


def read(path: Path, resume: Any = None) -> Recording:
    """Raises Unreadable, except for arguments, whose loss is only noted: the trainer may have logged them elsewhere."""
    if path.name == _ARGUMENTS:
        return Recording(format="pickle_file", notes=[f"{_DANGER}; log the arguments with report_to instead"])
    raise Unreadable(path, _DANGER, "let the trainer write JSON lines or parquet, or convert it where you trust it")
