"""Hyperparameters that a logger has turned into text."""

import re
from collections.abc import Mapping
from typing import Any

from firstbreak.readers._columns import leaves
from firstbreak.readers._literal import parse

MAX_DOTS = 200  #: of a key in TOML: to read it takes time and memory that grow with their square


def toml(data: bytes) -> dict[str, Any]:
    """The table of a TOML file. Raises ValueError."""
    import tomllib

    if any(part.count(b".") > MAX_DOTS for part in re.split(rb"[\n={,#]", data)):
        raise ValueError(f"a key of more than {MAX_DOTS} dots")
    return tomllib.loads(data.decode())


def value(written: str) -> Any:
    """What `str()` of a Python value was; whatever is no literal stays a string.

    >>> value("0.001"), value("True"), value("None"), value("CartPole-v1")
    (0.001, True, None, 'CartPole-v1')
    """
    try:
        return parse(written)
    except ValueError:
        return written


def flat(options: Mapping[str, Any]) -> dict[str, Any]:
    """Nested options as one dict, names joined with "."; a tree out of all proportion gives none."""
    try:
        return dict(leaves(options, "."))
    except ValueError:
        return {}
