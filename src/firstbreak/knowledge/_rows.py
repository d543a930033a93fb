"""What the tables of causes and of experiments share: strict keys, names that must exist, and pages that are read when shown."""

import re
from collections.abc import Callable, Collection, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from firstbreak.engine import families
from firstbreak.patterns import pattern
from firstbreak.plugins import BadPlugin

Named = Callable[[str, str, Mapping[str, Any]], Any]  #: (key, one, among) -> what it is
METHODS = {method.value: method for method in families.Method}
_TEXT = pattern(r'^(\w+) = (?:"""\n?(.*?)"""|"(.*?)")$', re.MULTILINE | re.DOTALL)


def read(file: Path, of: str, needed: Collection[str], more: Collection[str]) -> Mapping[str, Mapping[str, Any]]:
    """The rows of a table, by id. Raises BadPlugin where a row lacks a key, or has one that is none `of` "a cause"."""
    import tomllib

    table = tomllib.loads(file.read_text("utf-8"))
    for name, row in table.items():
        if lacking := sorted(set(needed) - row.keys()):
            raise BadPlugin(f"{file}: [{name}]: {lacking[0]} is missing")
        if wrong := sorted(row.keys() - set(needed) - set(more)):
            raise BadPlugin(f"{file}: [{name}]: {wrong[0]} is no key of {of}")
    return table


def named(file: Path, name: str) -> Named:
    """Reads a name that a row gives. Raises BadPlugin, with file, row and key, where there is none such."""

    def found(key: str, one: str, among: Mapping[str, Any]) -> Any:
        if one not in among:
            raise BadPlugin(f"{file}: [{name}]: {key}: {one!r} is none of {', '.join(among)}")
        return among[one]

    return found


def families_of(row: Mapping[str, Any], named: Named) -> families.Families:
    """The families of a row: `families`, the only ones, or `without`, methods for which it does not hold."""
    if "without" in row:
        return families.without(*(named("without", one, METHODS) for one in row["without"]))
    groups = (named("families", one, families.NAMED) for one in row.get("families", ()))
    return families.only(*(member for group in groups for member in group))


def page(file: Path, name: str, title: str, headings: Mapping[str, str]) -> str:
    """The page of a row. Its texts are plain: to load the reader of TOML would take longer than all of them."""
    texts = {key: lines or line for key, lines, line in _TEXT.findall(_parts(file)[name])}
    return "\n\n".join([title, *(f"## {heading}\n{texts[key]}" for key, heading in headings.items())])


@cache
def _parts(file: Path) -> Mapping[str, str]:
    """The part of each row in a file, by id: a header is a line that begins with a bracket."""
    _, *parts = re.split(r"^(?=\[)", file.read_text("utf-8"), flags=re.MULTILINE)
    return {part[1 : part.index("]")]: part for part in parts}
