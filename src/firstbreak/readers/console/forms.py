"""Lines of one form that come again and again, whatever their form is.

    300 | eps 0.976 ep_ret -6.0 soft 0.20 | loss nan q_sa +nan | copies 0 t 0s          names, then numbers, in cells
    --- update 1 | frames 512 | 0.1s                                                    below it, each line with its subject:
        critic:   V 0.010 (sd 0.091)  target 11.4 (sd 3.4)  loss 70.9  EV -0.01         critic/V, critic/V sd, critic/target, ...
    policy    loss=-1.22e-03 entropy=1.38                                               policy/loss beside critic/loss

Two lines are of one form where they differ in their numbers alone. What stands before a number is its name: the words back to
the mark or the number before it. A statistic that stands alone belongs to the name before it, a name that other lines of a
block have too is told apart by the first word of its line, and the lines up to the next count are one row.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator

import numpy as np

from firstbreak.dialects._table import word_set
from firstbreak.model import Event
from firstbreak.readers import Curve
from firstbreak.readers._columns import COUNTERS, on_split, split_prefix
from firstbreak.readers.console._reading import BARE
from firstbreak.readers.console.events import Events
from firstbreak.readers.console.pairs import STAMP

AGAIN = 4  #: lines of one form that are no accident
LONGEST = 2000  #: characters; longer lines are dumps
_NUMBER = re.compile(
    rf"(?<![\w.])(?<!\w-)(?P<value>{BARE})(?:/(?P<of>\d{{1,12}})(?![\w.]))?(?P<unit>%|[kKM]\b|ms\b|s\b|sps\b|fps\b|tps\b|u\b)?(?![\w.])"
)
_DIGITS = re.compile(r"\d+")
_SPEEDS = ("sps", "fps", "tps")
_BARE_ROW = re.compile(r"[#|\s]*#[#|\s]*")
_COUNTED = re.compile(r"\s+(steps|episodes|frames|updates|iterations|epochs)\b")  #: `1200 steps` says what it counts
_HEAD = re.compile(r"\W*(?P<words>[A-Za-z]\w*(?: [A-Za-z]\w*)?)(?::\s+|\s{2,})(?=[A-Za-z|])")
_PHASE = re.compile(r"\W*(?P<phase>[A-Za-z]\w*)\b")
_MARK = re.compile(r".*(?:[|;\[\]{}]|,\s|\s{2,}|\s[-–—>]+\s|:\s+(?=\S))")
_LEVEL = re.compile(r"^\W*(?:INFO|DEBUG|WARNING|ERROR)\b\W*")
_DEVIATION = re.compile(r"\s*(?:\+/?-|±)\s*$")
#: `|td|`: a size; `return(25)=`, `rollout(300,disc)=`: over so many; `solved 8/8 0.250`: a share of those, and no number
_SIZE = re.compile(r"\|{1,2}([A-Za-z]\w*)\|{1,2}(?=\(|\s*[=:]|\s+[-+]?[\d.])")
_OVER = re.compile(r"(?<=\w)\(\s*\d[^()]{0,40}\)(?=\s*[=:])")
_OF_SO_MANY = re.compile(r"(?<=\s)(\d{1,4})/(\d{1,4})(?=\s+[-+]?\d)")
_STATISTICS = word_set("mean avg mu med median std sd dev var min max absmean p10 p25 p50 p75 p90 p95 p99")
_FACTORS = {"%": 0.01, "k": 1e3, "K": 1e3, "M": 1e6, "ms": 1e-3}
_COUNTS = COUNTERS | {"it", "ep", "upd", "iters", "round", "rounds"}


def mined(text: str) -> tuple[dict[str, Curve], list[tuple[float, Event]]]:
    """A curve over the rows for each name in lines whose form comes again, and what other lines say that happened."""
    lines = [line for line in text.split("\n") if 0 < len(line) <= LONGEST and "%|" not in line and line[:1] != "{"]
    bare = [_LEVEL.sub("", STAMP.sub("", line, count=1)) for line in lines]
    forms = [" ".join(_DIGITS.sub("#", _NUMBER.sub("#", line)).split()) for line in bare]
    times = Counter(form for form in forms if "#" in form)
    events, rows = Events(), _Rows()
    columns: list[list[str]] = []  #: the words of the last heading of a table, by cell
    for whole, line, form in zip(lines, bare, forms, strict=True):
        columns = columns if "#" in form else (_columns(line) or columns)
        named = _of_columns(line, columns) if _BARE_ROW.fullmatch(form) else _named(line)
        if times[form] < AGAIN or not (said := list(named)):
            events.see(whole, rows.last, None)
        else:
            rows.take(form, said)
    curves = {name: _curve(of) for name, of in rows.points.items() if len(of) >= AGAIN}
    return curves, events.told(rows.last, False)


class _Rows:
    """Lines in, points out: a row begins with each line that counts, and goes on in the lines below it."""

    def __init__(self) -> None:
        self.points: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        self.last = -1
        self._row: dict[str, float] = {}
        self._leader = ""  #: the form of the lines that count

    def take(self, form: str, named: list[tuple[str, float]]) -> None:
        """Takes the numbers of a line."""
        count = next(((name, value) for name, value in named if name.lower() in _COUNTS), None)
        self._leader = self._leader or (form if count else "")
        below = bool(self._leader) and form != self._leader
        goes_on = below and (count is None or self._row.get(count[0], count[1]) == count[1])
        again = not self._row.keys().isdisjoint(name for name, _ in named)
        if self.last < 0 or (not goes_on and (form == self._leader or count or again)):
            self.last, self._row = self.last + 1, {}
        first = named[0][0].partition(" ")[0]
        for name, value in named:
            own = name.lower() in _COUNTS or name == first or not (name in self._row or (below and len(name) == 1))
            told = name if own else f"{first} {name}"  # a lone letter is of what its line begins with
            if told not in self._row:
                self._row[told] = value
                self.points[told].append((self.last, value))


def _curve(points: list[tuple[int, float]]) -> Curve:
    rows, values = np.array(points, float).T
    return Curve(index=rows, values=values)


def _columns(line: str) -> list[list[str]]:
    """The words of a line without numbers between its bars, as they may stand above columns."""
    cells = [re.split(r"\s{2,}", cell.strip()) for cell in line.split("|")]
    return cells if sum(map(len, cells)) > 2 and len(line) <= LONGEST else []


def _of_columns(line: str, columns: list[list[str]]) -> Iterator[tuple[str, float]]:
    """The numbers of a row, each under the word above it, where each cell has as many words as numbers."""
    numbers = [[_value(n, counts=False) for n in _NUMBER.finditer(cell)] for cell in line.split("|")]
    if len(numbers) != len(columns):
        return
    for of, values in zip(columns, numbers, strict=True):
        names = of if len(of) == len(values) else " ".join(of).split()
        if len(names) != len(values):
            names = [" ".join(of)] if len(values) == 1 else []
        timed = re.match(r"(ms|s): ?(.*)", names[0]) if names else None
        names = [f"time {name}" for name in [timed[2], *names[1:]]] if timed else names
        scale = _FACTORS.get(timed[1], 1.0) if timed else 1.0
        if names:
            yield from zip(names, (scale * value for value in values), strict=True)


def _named(line: str) -> Iterator[tuple[str, float]]:
    """Every number of a line with its name."""
    if "|" in line:
        line = _SIZE.sub(lambda found: "grad_norm" if found[1] in ("g", "grad") else f"abs_{found[1]}", line)
    line = _OF_SO_MANY.sub(r"\1of\2", _OVER.sub("", line))
    phase, head = _PHASE.match(line), _HEAD.match(line)
    prefix = split_prefix(phase["phase"]) if phase else ""
    subject = "" if head is None or prefix else f"{head['words'].lower()}/"
    start = phase.end() if phase and prefix else head.end() if head else 0
    before = of = ""
    for number in _NUMBER.finditer(line, start):
        text = line[start : number.start()].rstrip()
        start = number.end()
        if _DEVIATION.search(text):
            continue
        mark = _MARK.match(text)
        words = re.sub(r"[=:(){}\[\],|<>#*@]+|(?<!\w)-+", " ", text[mark.end() if mark else 0 :]).split()
        if text.endswith("=") and len(words) > 1:  # `eval=greedy eval_ret=-141`
            words = words[-2:] if words[-1].lower() in _STATISTICS else words[-1:]
        if words and not prefix and (prefix := split_prefix(words[0])):
            words = words[1:]
        elif mark and prefix and "train" in words:
            prefix = ""  # the rest of the line is of the training
        if not words and number["unit"] in _SPEEDS:
            words = [number["unit"]]
        elif not words and (counted := _COUNTED.match(line, start)):
            words = [counted[1]]
        elif not words and not before and (not prefix or "@" in text):
            words = ["step"]
        if not words:
            continue
        alone = len(words) == 1 and words[0].lower() in _STATISTICS and bool(before) and not mark
        if alone and (of != before or "=" not in text or "(" in text):
            words = [*of.split(), *words]
        else:
            of = " ".join(words[:-1] if words[-1].lower() in _STATISTICS else words)
        before = " ".join(words)
        counts = before.lower() in _COUNTS and not number["unit"]
        yield before if counts else on_split(subject + before, prefix), _value(number, counts)


def _value(number: re.Match[str], counts: bool) -> float:
    value = float(number["value"]) * _FACTORS.get(number["unit"], 1.0)
    return value if counts or not number["of"] or not float(number["of"]) else value / float(number["of"])
