"""Whether names that nobody has listed are understood by what they say: `python -m benchmarks.names`.

strangers_names.csv holds the names that loops of no known trainer log, one row for each name of a script, with the signal
that it should be ("custom" where the vocabulary has none; `a|b` where either is right). The names of one script are read
together, as a run's names are. They were written down before the rules that read them, and a hash of the name splits them in
two halves: mistakes are listed for one half only, so that nobody tunes to the other. A third part was collected when the rules
were there, from public code only; the rules were then extended while the mistakes of most of it were looked at.
"""

import csv
import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import environment
from benchmarks.size import place
from firstbreak import dialects
from firstbreak.dialects.signals import lookup

ROOT = Path(__file__).resolve().parent.parent
NAMES = ROOT / "benchmarks" / "strangers_names.csv"
RESULT = ROOT / "benchmarks" / "results" / "names.json"
CUSTOM = "custom"
PARTS = ("seen", "held", "later")


@dataclass(frozen=True)
class Row:
    """A name of a stranger's script, and what it should be."""

    script: str
    name: str
    signals: frozenset[str]  #: any of these is right
    seen: str  #: where such a script was seen
    later: bool  #: written down after the rules

    @property
    def part(self) -> str:
        """The part of the table: "seen", whose mistakes are shown, "held" or "later"."""
        if self.later:
            return "later"
        return ("seen", "held")[hashlib.sha256(self.name.lower().encode()).digest()[0] & 1]


@dataclass(frozen=True)
class Verdict:
    """A row, what firstbreak makes of it (None: it is listed as not understood), and how good that is."""

    row: Row
    found: str | None
    verdict: str  #: "understood", "missed", "wrong", or "left alone", where that is right


def rows(path: Path = NAMES) -> Iterator[Row]:
    """Every row of the table."""
    with path.open(newline="") as stream:
        for line in csv.DictReader(stream):
            signals = frozenset(_whole(signal) for signal in line["signal"].split("|"))
            yield Row(line["script"], line["name"], signals, line["seen"], line["written"] == "after")


def judge(table: Iterable[Row]) -> list[Verdict]:
    """What becomes of each name, read beside the other names of its script."""
    scripts: defaultdict[str, list[Row]] = defaultdict(list)
    for row in table:
        scripts[row.script].append(row)
    return [verdict for script in scripts.values() for verdict in _script(script)]


def _script(script: list[Row]) -> Iterator[Verdict]:
    names = [row.name for row in script]
    found = dialects.understand(names, dialects.choose(names, {}))
    for row in script:
        signal = _whole(found[row.name].signal) if row.name in found else None
        yield Verdict(row, signal, _verdict(row, None if signal is None or signal.startswith("custom.") else signal))


def _verdict(row: Row, signal: str | None) -> str:
    if signal is not None:
        return "understood" if signal in row.signals else "wrong"
    return "left alone" if CUSTOM in row.signals else "missed"


def _whole(signal: str) -> str:
    """The canonical spelling, without a slice."""
    whole = signal.partition("@")[0]
    known = lookup(whole)
    return known.name if known else whole


def figures(verdicts: list[Verdict]) -> dict[str, float]:
    """Counts, and two shares: of the names that have a signal, those understood; of all names, those translated wrongly."""
    counts = Counter(v.verdict for v in verdicts)
    wanted = [v for v in verdicts if CUSTOM not in v.row.signals]
    understood = sum(v.verdict == "understood" for v in wanted)
    return {
        "names": len(verdicts),
        "with_a_signal": len(wanted),
        "understood": understood,
        "wrong": counts["wrong"],
        "understood_share": round(understood / len(wanted), 4),
        "wrong_share": round(counts["wrong"] / len(verdicts), 4),
    }


def main() -> None:
    verdicts = judge(rows())
    parts = {part: [v for v in verdicts if v.row.part == part] for part in PARTS}
    for v in parts["seen"]:
        if v.verdict in ("wrong", "missed"):
            print(
                f"{v.verdict:8} {v.row.script:16} {v.row.name:32} {v.found or '':32} {'|'.join(sorted(v.row.signals))}"
            )
    shown = {part: figures(found) for part, found in parts.items()}
    RESULT.parent.mkdir(exist_ok=True)
    place(RESULT).write_text(json.dumps({**environment("python -m benchmarks.names"), "parts": shown}, indent=1) + "\n")
    for part, counts in shown.items():
        print(part, counts)


if __name__ == "__main__":
    main()
