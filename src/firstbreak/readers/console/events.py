"""Lines of a log that hold no number and say what happened: an error, a resumed run, a time-out, weights not loaded."""

import re

from firstbreak.masking import by_look
from firstbreak.model import Event, Happened
from firstbreak.values import replace

MOST = 200  #: events of one kind that are kept; more are the same again
LONGEST = 200  #: characters of a line
TAIL = 30  #: lines: what trackers print after an error; a file without numbers that goes on for longer is of a run that went on
_ROUTE = r"/(?:update|sync|load|push|set|broadcast|receive)_\w*(?:weight|param)"  #: of an engine's server
_KINDS = (
    (
        Happened.ERROR,
        r"out of memory|\boom[- ]killing\b|\berrored after \d+ iterations"
        r"|segmentation fault|core dumped|^\W*killed\W*$|: +\d+ killed\b|\bprocess\b.{0,40}\bkilled\b|\bkilled by\b"
        r"|^\w*(?:\.\w+)*(?:Error|Exception): ",
    ),
    (Happened.REFUSED, rf"{_ROUTE}\S* HTTP/[\d.]+\"? [45]\d\d\b"),
    (
        Happened.NOT_LOADED,
        r"\breward_?model\b.{0,200}\bnewly initiali[sz]ed\b"
        r"|\bnot used when initiali[sz]ing (?!\w*CausalLM)\w+: \['(?:score|classifier|\w*(?:value|reward|v)_head)\b"
        r"|\bcheckpoint\b.{0,160}\b(?:is empty|not found|does not exist|missing)\b.{0,40}\b(?:continu|skip|ignor)",
    ),
    (
        Happened.RESUMED,
        r"\bresum(?:ed|ing)\b.{0,40}\b(?:from|at|training)\b|\b(?:load(?:ed|ing)|restor(?:ed|ing))\b.{0,30}\b(?:checkpoint|ckpt)\b"
        r"|\bcontinuing training from\b|\bloaded\b.{0,120}\bcontinu|\brequeued?\b",
    ),
    (Happened.TIMEOUT, r"\btime[d-]?[ -]?out\b(?!\s*[:=]\s*\d)"),
    (Happened.SKIPPED, r"\bskipp(?:ed|ing)\b.{0,40}\b(?:step|update|batch|optimizer)|\bgradient overflow\b"),
)
_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_TAKEN = re.compile(rf"{_ROUTE}\S* HTTP/[\d.]+\"? 2\d\d\b")  #: refusals before it were those of a server that starts
_TRACEBACK = "Traceback (most recent call last)"
_RAISED = re.compile(r"[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Exit|Warning)?(?::|$)")


class Events:
    """Lines in, events out; it remembers a traceback that is not over."""

    def __init__(self) -> None:
        self.found: list[tuple[int, int, Event]] = []  #: with the row and the line of text that were read last
        self._lines = 0
        self._counts: dict[Happened, int] = {}
        self._inside = False  #: a traceback

    def see(self, line: str, row: int, step: float | None) -> None:
        """Takes the line where it says what happened."""
        self._lines += 1
        if _TRACEBACK in line:
            self._inside = True
            return
        if self._inside:
            if line[0] in " \t|+" or not _RAISED.match(line):
                return
            self._inside = False
            self._take(Happened.ERROR, line, row, step)
            return
        if len(line) <= 10 * LONGEST:
            kind = next((kind for kind, pattern in _PATTERNS if pattern.search(line)), None)
            if kind is not None:
                self._take(kind, line, row, step)
            elif Happened.REFUSED in self._counts and _TAKEN.search(line):
                del self._counts[Happened.REFUSED]
                self.found = [found for found in self.found if found[2].kind is not Happened.REFUSED]

    def is_raised(self, line: str) -> bool:
        """Whether the line ends a traceback, whatever numbers its message holds."""
        return self._inside and "Error: " in line and bool(_RAISED.match(line))

    def told(self, row: int, has_steps: bool) -> list[tuple[float, Event]]:
        """What was found since the last call, each with the index of the last number before it."""
        found, self.found = self.found, []
        told = []
        for at, line, event in found:
            last = at == row and (row >= 0 or self._lines - line <= TAIL)
            told.append(((event.step or 0.0) if has_steps else float(at), replace(event, last=last, step=None)))
        return told

    def _take(self, kind: Happened, line: str, row: int, step: float | None) -> None:
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if self._counts[kind] <= MOST:
            self.found.append((row, self._lines, Event(kind=kind, text=by_look(line.strip())[:LONGEST], step=step)))
