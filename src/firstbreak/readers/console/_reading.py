"""What one line of a log says, and the forms that numbers take in logs."""

import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

#: A number as trainers print it: bare, quoted, in brackets, np.float64(0.5), tensor(0.5, device='cuda:0'). Every part
#: can match in one way only and arguments are short, so that no line takes more than linear time.
BARE = r"[-+]?(?:\d+(?:\.\d*)?(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|inf\b|nan\b|Inf\b|NaN\b|Infinity\b)"
VALUE = rf"(?:[^\W\d][\w.]{{0,40}}\()?\[?['\"]?(?P<value>{BARE})['\"]?\]?(?:,[^()]{{0,80}}\)|\))?(?P<unit>%|[skKM]\b)?"


class LineKind(enum.Enum):
    """How a reading joins the ones around it."""

    ROW = enum.auto()  #: a row of its own
    FRAGMENT = enum.auto()  #: a part of the block that is open; opens one otherwise
    BREAK = enum.auto()  #: ends the open block; its step, if any, is that of what follows
    HEADING = enum.auto()  #: its values are the counters of the lines below it


@dataclass(frozen=True, slots=True)
class ParsedLine:
    """What a grammar found in one line."""

    values: Mapping[str, float] = field(default_factory=dict)
    step: float | None = None
    kind: LineKind = LineKind.ROW
    config: Mapping[str, Any] = field(default_factory=dict)
    nulls: frozenset[str] = frozenset()  #: names that were printed with None for a number
    weak: bool = False  #: a number without a step: a metric only if its name comes again
    prefix: str = ""  #: of a heading: what it puts before the names below it


NOTHING = ParsedLine(kind=LineKind.FRAGMENT)  #: the line is the grammar's, and says nothing


def scaled(match: re.Match[str]) -> float:
    """The number of a VALUE match; percent as a fraction, `1.2k` as 1200."""
    value = float(match["value"])
    return value / 100 if match["unit"] == "%" else value * {"k": 1e3, "K": 1e3, "M": 1e6}.get(match["unit"], 1)
