"""The dialects of small.toml, as modules like those of the other files.

Every run is compared with what each trainer is recognised by, so that is read at once; the names and options of a trainer
are read when one of them is asked for.
"""

import re
from collections.abc import Mapping, Set
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Any

from firstbreak.dialects._table import Name

FILE = Path(__file__).with_name("small.toml")
_SETS = frozenset({"marks", "alone", "config_marks"})
_LATER = frozenset({"NAMES", "NOT_CONVERTED", "CONFIG", "DEFAULTS", "LOG", "about", "algorithm", "context"})


class Small(ModuleType):
    """A dialect whose names, options and methods are read on first use from their part of the file."""

    def __init__(self, name: str, recognised_by: Mapping[str, Any]) -> None:
        super().__init__(f"{__package__}.{name}")
        self.MARKS: frozenset[str] = frozenset()
        for key, value in recognised_by.items():
            setattr(self, key.upper(), _of_python(key, value))

    def __getattr__(self, attribute: str) -> Any:
        if attribute not in _LATER or "NAMES" in vars(self):
            raise AttributeError(attribute)
        self._read()
        return getattr(self, attribute)

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        """What the page of this trainer says."""
        return str(self.about)

    def _read(self) -> None:
        import tomllib

        short = self.__name__.rpartition(".")[2]
        tables = tomllib.loads(_parts()[1][short])[short]
        more, context = tables.pop("more"), tables.pop("context", None)
        self.about = more["about"]
        self.algorithm = partial(_method, more["algorithm"])
        if context:
            self.context = partial(_others, context)
        self.NAMES = {raw: _name(meaning) for raw, meaning in tables.pop("names").items()}
        for key, value in tables.items():
            setattr(self, key.upper(), value)


def modules(known: Mapping[str, Any] | None = None) -> dict[str, ModuleType]:
    """Dialect by name. `known`: what the index holds of the file."""
    row = known if known is not None and known["bytes"] == FILE.stat().st_size else recognised()
    return {name: Small(name, table) for name, table in row["dialects"].items()}


def recognised() -> dict[str, Any]:
    """The size of the file in bytes, and what each of its dialects is recognised by."""
    import tomllib

    return {"bytes": FILE.stat().st_size, "dialects": tomllib.loads(_parts()[0])}


@cache
def _parts() -> tuple[str, dict[str, str]]:
    """What all dialects are recognised by, and the rest of each."""
    parts = re.split(r"^(?=\[\w)", FILE.read_text("utf-8"), flags=re.MULTILINE)
    of_all, rest = "", dict[str, str]()
    for part in parts:
        header = re.match(r"\[(\w+)\.", part)
        if header:
            rest[header[1]] = rest.get(header[1], "") + part
        else:
            of_all += part
    return of_all, rest


def _of_python(key: str, value: Any) -> Any:
    if key in _SETS:
        return frozenset(value)
    if key == "strong":
        return tuple(map(frozenset, value))
    return tuple(value) if isinstance(value, list) else value


def _name(meaning: str | list[Any]) -> str | Name:
    if isinstance(meaning, str):
        return meaning
    signal, *said = meaning
    return Name(signal, note=said[0]) if isinstance(said[0], str) else Name(signal, *said)


def _method(methods: list[list[Any]], names: Set[str], config: Mapping[str, Any]) -> str | None:
    """The first method with a sign among the names and options, or without any; None where there is none."""
    found = (method for method, *signs in methods if not signs or any(_seen(sign, names, config) for sign in signs))
    return next(found, None) or None


def _seen(sign: str | list[str], names: Set[str], config: Mapping[str, Any]) -> bool:
    if isinstance(sign, list):
        return all(_seen(each, names, config) for each in sign)
    if sign.endswith("*"):
        return any(name.startswith(sign[:-1]) for name in names)
    option, is_option, value = sign.partition("=")
    return str(config.get(option, "")) == value if is_option else sign in names


def _others(context: Mapping[str, Any], names: Set[str]) -> Mapping[str, str | Name]:
    """What names mean beside those that are logged with them."""
    logged = not names.isdisjoint(context["beside"]) and names.isdisjoint(context.get("without", ()))
    return context["names"] if logged else {}
