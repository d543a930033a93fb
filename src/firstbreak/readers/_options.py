"""Hyperparameters that a logger has turned into text."""

from collections.abc import Mapping
from typing import Any

from firstbreak.readers._columns import leaves
from firstbreak.readers._literal import parse


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
