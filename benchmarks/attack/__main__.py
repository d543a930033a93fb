"""The whole campaign, and its table: `make attack`.

    python -m benchmarks.attack                     each kind at the size below
    python -m benchmarks.attack --semantic 1000000 --minutes 600 --more
    python -m benchmarks.attack --only 4711 --deep  one semantic mutant again, with its traceback

With --more, semantic mutants go on where the last campaign stopped, and the counts are added. With --minutes, the mutants of each
kind end there; the counts say how many were asked. Writes benchmarks/results/attack.json; `make docs` makes the table.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from tests.fuzz.run import fuzz
from tests.fuzz.seeds import seeds

from benchmarks.attack import AttackTally, others, values
from benchmarks.machine import environment
from benchmarks.size import SMALLEST, place, sized

RESULTS = Path(__file__).parents[1] / "results" / "attack.json"
#: kind -> how many are asked, and with SMALLEST=1
SIZES: Mapping[str, tuple[int, int]] = {
    "bytes": (400, 5),  # of each reader
    "semantic": (20_000, 50),
    "diagnosed": (500, 3),
    "links": (len(others.PARTS) * len(others.LINKS), 4),
    "bombs": (len(others.BOMBS), 1),
    "injections": (len(others.PAYLOADS), 2),
    "clients": (200, 20),
    "kills": (100, 4),
}
SEED = 7  #: of the byte mutants, so that they are not those of `make fuzz`


def byte_mutants(count: int) -> AttackTally:
    """Damaged files, that many of each reader."""
    tally = AttackTally()
    for name in sorted(seeds()):
        found = fuzz(name, count, SEED)
        tally.asked += found.executions
        tally.fell += found.crashes
        tally.first |= {kind: f"--reader {name} --seed {SEED} --only {number}" for kind, number in found.first.items()}
    return tally


def run(sizes: Mapping[str, int], minutes: float, before: Mapping[str, Any]) -> dict[str, AttackTally]:
    """Every kind in turn. `before`: tallies that are added to."""
    asked = {name: before[name]["asked"] if name in before else 0 for name in sizes}

    def mutants(name: str, deep: bool) -> Callable[[int], AttackTally]:
        end = time.monotonic() + 60 * minutes
        return lambda count: values.campaign(asked[name], count, deep=deep, until=lambda: time.monotonic() > end)

    kinds: dict[str, Callable[[], Callable[[int], AttackTally]]] = {
        "links": lambda: others.links,
        "bombs": lambda: others.bombs,
        "injections": lambda: others.injections,
        "clients": lambda: others.clients,
        "kills": lambda: others.kills,
        "bytes": lambda: byte_mutants,
        "diagnosed": partial(mutants, "diagnosed", True),
        "semantic": partial(mutants, "semantic", False),
    }
    tallies = {}
    for name, kind in kinds.items():
        began = time.monotonic()
        tally = kind()(sizes[name]) if sizes[name] else AttackTally()
        tally.seconds = round(time.monotonic() - began, 1)
        print(
            f"{name:12s} {tally.asked:9,d} asked {tally.fell.total():5,d} fell {tally.seconds:8.1f} s {tally.measured}",
            flush=True,
        )
        for what, often in tally.fell.most_common():
            print(f"    {often:6,d} x {what}  ({tally.first[what]})", flush=True)
        tallies[name] = tally.plus(before[name]) if name in before else tally
    return tallies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (full, smallest) in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=sized(full, smallest))
    parser.add_argument("--minutes", type=float, default=600.0, help="for each of the two kinds of semantic mutants")
    parser.add_argument("--more", action="store_true", help="add to the committed counts")
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--deep", action="store_true", help="with --only: diagnose it as well")
    options = parser.parse_args()
    if options.only is not None:
        with values.workplace() as folder, values.alarm(), values.emptied(folder / "run") as run_:
            values.mutant(run_, options.only)
            values.ask(run_, options.deep)
        return 0
    before = json.loads(RESULTS.read_text())["attacks"] if options.more and RESULTS.exists() and not SMALLEST else {}
    tallies = run({name: getattr(options, name) for name in SIZES}, options.minutes, before)
    content = {**environment("make attack"), "attacks": {name: tally.plain() for name, tally in tallies.items()}}
    place(RESULTS).write_text(json.dumps(content, indent=1) + "\n")
    return 1 if any(tally.fell for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
