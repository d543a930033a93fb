"""A heading counts for the lines below it, or says that they are of an evaluation, where these do not say it themselves.

    Eval metrics at step 6:
      Reward: mean=3.06, std=1.38          becomes eval/Reward/mean, at step 6

Below it are the lines that are indented deeper, else those up to one without numbers or with a counter of its own.
The step of some stands above all that follows, and where it counts several things, the steps of the whole run count:

    ... StatsLogger INFO: Epoch 1/10 Step 3/100 Train step 3/1000 done.    AReaL, before its table
    ====== Step 12/1000 ======      Step 12:      ─── Step 12 ───          NeMo-RL, SkyRL, titles of tables (tinker)
    Interval 2 (10000 steps performed)                                   keras-rl; episodes below "done, took" are of its test
                      Learning iteration 12/1500                           rsl_rl, before its block
"""

import re
from collections.abc import Mapping

from firstbreak.readers._columns import COUNTERS, on_split
from firstbreak.readers.console._reading import LineKind, ParsedLine

CENTRED = 12  #: characters before a heading whose indent says nothing
_AREAL = re.compile(r"Train step (\d+)/\d+ done")
_TITLE = re.compile(r"[\W_]*(?:(?:global )?step|learning iteration):? (\d+)(?:/\d+)?[\W_]*", re.IGNORECASE)
_INTERVAL = re.compile(r"Interval \d+ \((\d+) steps performed\)\W*")
_TESTS = re.compile(r"(?P<held>done, took [\d.]+ seconds|Testing for \d+ episodes)\W*|Training for \d+ steps\W*")


def step(line: str) -> ParsedLine | None:
    """A break with the new step."""
    if len(line) > 400 or not any(word in line for word in ("tep", "iteration", "done, took", "Testing for")):
        return None
    if tested := _TESTS.fullmatch(line):
        return ParsedLine(kind=LineKind.HEADING, prefix="eval/" if tested["held"] else "")
    found = _TITLE.fullmatch(line) or _INTERVAL.fullmatch(line) or _AREAL.search(line)
    return ParsedLine(step=float(found[1]), kind=LineKind.BREAK) if found else None


def counts(name: str) -> bool:
    """Whether a name is that of a counter, whatever stands before it."""
    return name.rpartition("/")[2].lower() in COUNTERS - {"time", "timestamp"}


def kind(name: str) -> str:
    """What a counter counts: steps, whatever they are called, or one of these."""
    return next((word for word in ("episode", "epoch", "iter", "update") if word in name.lower()), "step")


class Headings:
    """The heading that is open."""

    def __init__(self) -> None:
        self.counters: dict[str, float] = {}  #: what no line below has taken yet
        self.inside = False  #: the last line is below a heading
        self.prefix = ""  #: what it puts before the names below it
        self._indent, self._below = 0, -1  #: characters before the heading, and before the first line below it

    def see(self, line: str, reading: ParsedLine) -> Mapping[str, float]:
        """The values of a line, under the names that they have there."""
        values, indent = reading.values, len(line) - len(line.lstrip())
        if reading.kind is LineKind.HEADING:
            self.counters.update(values)
            kept = self.prefix if values and self._below < 0 else ""  # a heading of two lines
            self.inside, self.prefix, self._below = True, reading.prefix or kept, -1
            self._indent = -1 if indent >= CENTRED or _TESTS.fullmatch(line) else indent
            return {}
        own = reading.step is not None or any(map(counts, values))
        over = self._below >= 0 and (not values or indent <= self._indent < self._below)
        if own or over:
            self.inside = self.inside and indent > self._indent
        if own and not self.inside:
            self.counters.clear()
        if values and self._below < 0:
            self._below = indent
        if not self.inside or not self.prefix:
            return values
        return {on_split(name, self.prefix): value for name, value in values.items() if not counts(name)}
