"""Hyperparameters in the texts of TensorBoard's text plugin."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from firstbreak.readers._json import loads
from firstbreak.readers._options import flat
from firstbreak.readers._options import value as option

_CONFIG_TAGS = frozenset({"args", "hyperparameters", "hparams", "config"})  #: texts whose keys are options as they are


def options_in(tag: str, content: str) -> Mapping[str, Any]:
    """The options in a text: a JSON object (transformers) or a markdown table of names and values (CleanRL)."""
    options = _json_options(content) if content.lstrip().startswith("{") else dict(_table_options(content))
    return {name if tag in _CONFIG_TAGS else f"{tag}.{name}": value for name, value in options.items()}


def _json_options(content: str) -> dict[str, Any]:
    try:
        return flat(loads(content))
    except ValueError:
        return {}


def _table_options(content: str) -> Iterator[tuple[str, Any]]:
    rows = [line.strip() for line in content.splitlines()]
    if len(rows) < 3 or not re.fullmatch(r"\|[\s:-]+\|[\s:-]+\|?", rows[1]):
        return
    for row in rows[2:]:
        name, _, value = row.removeprefix("|").partition("|")
        if name.strip():
            yield name.strip(), option(value.strip().removesuffix("|").strip())
