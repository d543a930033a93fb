"""Raw names with placeholders -> canonical names."""

import enum
import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from firstbreak.dialects.signals import STATISTICS, lookup
from firstbreak.values import dataclass, replace

_CONSTANTS = {"True": True, "False": False, "None": None}


def words(text: str) -> tuple[str, ...]:
    """Names written one behind the other, with "|" between them where some have blanks: forty of them take four lines."""
    return tuple(" ".join(name.split()) for name in text.split("|")) if "|" in text else tuple(text.split())


def word_set(text: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(words(text))


def spelled(same: str = "", /, **meanings: str) -> dict[str, str]:
    """Name -> meaning, from the names that have a meaning, written one behind the other as in `words`.

    `same`: names that say what they mean.
    """
    own = {name: name for name in words(same)}
    return own | {name: meaning for meaning, names in meanings.items() for name in words(names)}


def entries(text: str) -> Iterator[tuple[str, str]]:
    """What stands before and behind the colon of each entry; the entries have "|" between them."""
    pairs = (" ".join(entry.split()).partition(": ") for entry in text.split("|"))
    return ((name, said) for name, _, said in pairs)


def meanings(text: str) -> dict[str, str]:
    """Name -> meaning, from entries of a meaning and its names; an entry without a colon is of names that say what they mean."""
    return {name: meaning if names else name for meaning, names in entries(text) for name in (names or meaning).split()}


def options(text: str) -> dict[str, Any]:
    """Options with their values, written one behind the other: `gamma=0.99 kl_in_reward=False kl_estimator=k3`."""
    return {name: _value(value) for name, _, value in (pair.partition("=") for pair in text.split())}


def _value(written: str) -> Any:
    if written in _CONSTANTS:
        return _CONSTANTS[written]
    try:
        return int(written)
    except ValueError:
        return float(written) if written[0].isdigit() else written


class Origin(enum.IntEnum):
    """Who says what a name means; of two names with one meaning, the higher origin counts."""

    WORDS = 0  #: put together from the words of the name, which is listed nowhere
    DIALECT = 1  #: listed
    USER = 2


@dataclass(frozen=True)
class Name:
    """What a raw name really is. `value * scale` is in the canonical unit and sign of `signal`."""

    signal: str
    scale: float = 1.0
    note: str = ""  #: estimator, window, floor, clamp: whatever changes how the number may be read
    origin: Origin = Origin.DIALECT


@dataclass(frozen=True)
class Older:
    """Defaults of a trainer's earlier versions, and what a run of them is known by.

    All of `names` are logged and none of `lacks`; a name that ends in "/" stands for every name that begins so. All of
    `options` are recorded. A default of None says that these versions have none, or that it is not known.
    """

    until: str  #: the last version of which this is true
    defaults: Mapping[str, Mapping[str, Any]]  #: algorithm ("" for all) -> canonical hyperparameter -> default
    names: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    options: tuple[str, ...] = ()

    def fits(self, names: Collection[str], options: Collection[str]) -> bool:
        """Whether a run that logged these names and recorded these options (keys joined with ".") is one of them."""
        recorded = {".".join(parts[i:]) for key in options for parts in [key.split(".")] for i in range(len(parts))}
        return (
            all(_logged(name, names) for name in self.names)
            and not any(_logged(name, names) for name in self.lacks)
            and recorded.issuperset(self.options)
        )


def _logged(name: str, names: Collection[str]) -> bool:
    return any(n.startswith(name) for n in names) if name.endswith("/") else name in names


_SPELLINGS = {s: s for s in STATISTICS} | {"avg": "mean", "average": "mean", "median": "p50"}
_PLACEHOLDER = re.compile(r"<(?:(path|int):)?(\w+)>")
_GROUPS = {None: "([^/]+)", "path": "(.+)", "int": r"(\d+)"}
_STATISTIC = f"({'|'.join(sorted(_SPELLINGS, key=len, reverse=True))})"


class NameTable:
    """Raw name -> Name. Exact names come first, then patterns, the one with most literal text first.

    In a pattern `<x>` stands for a part without "/", `<path:x>` for any text, `<int:x>` for digits and `<stat>` for a
    statistic (mean, avg, max, p90, ...), and the same `<x>` in the signal is filled with what was found.
    """

    def __init__(self, names: Mapping[str, str | Name]) -> None:
        entries = {raw: Name(name) if isinstance(name, str) else name for raw, name in names.items()}
        self._exact = {raw: _canonical(name) for raw, name in entries.items() if "<" not in raw}
        patterns = sorted((raw for raw in entries if "<" in raw), key=lambda raw: -len(_PLACEHOLDER.sub("", raw)))
        self._slots = [([m[2] for m in _PLACEHOLDER.finditer(raw)], entries[raw]) for raw in patterns]
        # One alternation for all patterns; the name of the group that closed last says which of them matched.
        self._any = re.compile("|".join(f"(?P<_{i}>{_regex(raw)})" for i, raw in enumerate(patterns)) or "(?!)")

    def exact(self, raw: str) -> Name | None:
        """What `raw` means where the table holds this very name."""
        return self._exact.get(raw)

    def get(self, raw: str) -> Name | None:
        """What `raw` means, or None."""
        if raw in self._exact:
            return self._exact[raw]
        match = self._any.fullmatch(raw)
        if match is None or match.lastgroup is None or match.lastindex is None:
            return None
        slots, name = self._slots[int(match.lastgroup[1:])]
        signal = name.signal
        for offset, slot in enumerate(slots, start=1):
            found = match[match.lastindex + offset]
            signal = signal.replace(f"<{slot}>", _SPELLINGS[found] if slot == "stat" else found)
        return _canonical(replace(name, signal=signal))


def _regex(raw: str) -> str:
    literals = map(re.escape, _PLACEHOLDER.split(raw)[::3])
    groups = [_STATISTIC if m[2] == "stat" else _GROUPS[m[1]] for m in _PLACEHOLDER.finditer(raw)]
    return "".join(part for pair in zip(literals, [*groups, ""], strict=True) for part in pair)


def _canonical(name: Name) -> Name:
    signal = lookup(name.signal)
    return replace(name, signal=signal.name) if signal else name
