"""The share of each trainer's logged names that is understood, by firstbreak and by its nearest peer: `make coverage`.

Every row of the two reference tables is asked for. A row counts as understood where every name that it stands for maps
to a signal (for the peer: to a field of its schema or to a reward component); whether it is the right signal, with the
right sign, is what tests/dialects/test_reference.py checks for firstbreak. A name that is known and deliberately not
converted (a table of texts, a constant) is `refused`, and not understood.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

from benchmarks.logged_names import Row, rows
from benchmarks.machine import PACKAGES, environment
from benchmarks.size import place
from firstbreak import dialects

ROOT = Path(__file__).resolve().parent.parent
SHARED = ROOT.parent / "shared"
RESULT = ROOT / "benchmarks" / "results" / "coverage.json"

Counts = dict[str, dict[str, int]]


def measure(table: list[Row]) -> Counts:
    """Trainer -> logged, understood, refused."""
    beside: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    for row in table:
        beside[row.dialect, row.trainer].update(row.names)
    known = {key: dialects.understand(sorted(names), dialects.dialects()[key[0]]) for key, names in beside.items()}
    logged, understood, refused = Counter[str](), Counter[str](), Counter[str]()
    for row in table:
        dialect = dialects.dialects()[row.dialect]
        logged[row.dialect] += 1
        understood[row.dialect] += all(name in known[row.dialect, row.trainer] for name in row.names)
        refused[row.dialect] += any(dialects.not_converted(name, dialect) is not None for name in row.names)
    return {t: {"logged": logged[t], "understood": understood[t], "refused": refused[t]} for t in sorted(logged)}


def measure_peer(table: list[Row], resolve: Callable[[str], object]) -> Counts:
    """Trainer -> logged, understood, by another tool's own mapping from name to field."""
    logged = Counter(row.dialect for row in table)
    understood = Counter(row.dialect for row in table if all(resolve(name) is not None for name in row.names))
    return {t: {"logged": logged[t], "understood": understood[t]} for t in sorted(logged)}


def rldoctor(name: str) -> object:
    """What rl-doctor makes of a name: a field of its schema, a reward component, or None."""
    from rl_doctor.aliases import resolve, resolve_reward_component

    return resolve(name) or resolve_reward_component(name)


def main() -> None:
    if not (SHARED / "reference").exists():
        print(f"skipped: the tables of logged names are not beside the project ({SHARED / 'reference'})")
        return
    table = list(rows(SHARED))
    ours, theirs = measure(table), measure_peer(table, rldoctor)
    where = environment("make coverage", (*PACKAGES, "rldoctor"))
    RESULT.parent.mkdir(exist_ok=True)
    place(RESULT).write_text(json.dumps({**where, "trainers": ours, "peers": {"rldoctor": theirs}}, indent=1) + "\n")
    print(f"{'trainer':16} {'logged':>6} {'firstbreak':>11} {'refused':>8} {'rl-doctor':>10}")
    for trainer, counts in ours.items():
        peer = theirs[trainer]["understood"]
        print(f"{trainer:16} {counts['logged']:6} {counts['understood']:11} {counts['refused']:8} {peer:10}")
    total = {key: sum(counts[key] for counts in ours.values()) for key in ("logged", "understood", "refused")}
    peers = sum(counts["understood"] for counts in theirs.values())
    print(f"{'all':16} {total['logged']:6} {total['understood']:11} {total['refused']:8} {peers:10}")


if __name__ == "__main__":
    main()
