"""The whole campaign, and its table: `make attack`.

    python -m benchmarks.attack                     each kind at the size below
    python -m benchmarks.attack --only-kinds semantic diagnosed --semantic 1000000 --processes 2 --more
    python -m benchmarks.attack --only 4711 --deep  one semantic mutant again, with its traceback

With --more, semantic mutants go on where the last campaign stopped, and the counts are added. With --minutes, the mutants of each
kind end there; the counts say how many were asked. Writes benchmarks/results/attack.json after each kind, and after each block of
mutants, so that a campaign that was ended is resumed with --more; `make docs` makes the table.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.attack import AttackTally, commands, damage, growth, others, values
from benchmarks.machine import environment
from benchmarks.size import SMALLEST, place, sized

RESULTS = Path(__file__).parents[1] / "results" / "attack.json"
#: kind -> how many are asked, and with SMALLEST=1
SIZES: Mapping[str, tuple[int, int]] = {
    "diagnosed": (500, 3),
    "semantic": (20_000, 50),
    "links": (len(others.PARTS) * len(others.LINKS), 4),
    "bombs": (len(others.BOMBS), 1),
    "injections": (len(others.PAYLOADS), 2),
    "clients": (200, 20),
    "kills": (100, 4),
    "damaged": (len(damage.LOGS) * len(damage.DAMAGES), 9),
    "surroundings": (len(commands.SURROUNDINGS) * len(commands.COMMANDS), 1),
    "outputs": (len(commands.WRITERS) * len(commands.TARGETS) * len(commands.WAYS), 2),
    "crowds": (len(others.CROWDS) * len(others.FROM), 1),
    "databases": (len(damage.DATABASES) * len(damage.STATES), 2),
    "beside": (len(damage.LAYOUTS) * 2 * len(damage.BESIDE), 5),
    "growth": (len(growth.FILES) + len(growth.BEGINNINGS), 2),
    "signals": (200 * len(commands.COMMANDS), 9),
}
#: mutants between two writes of the counts, and in how many parts the processes share them
BLOCK, BLOCK_DEEP, PARTS = 20_000, 400, 8


def mutants(
    first: int, count: int, *, deep: bool, each: Callable[..., Iterable[AttackTally]], until: Callable[[], bool]
) -> Iterator[AttackTally]:
    """Semantic mutants from the number `first` on, a tally for each block that every process had a part of."""
    size = BLOCK_DEEP if deep else BLOCK
    for start in range(first, first + count, size):
        if until():
            return
        part = max(1, min(size, first + count - start) // PARTS)
        starts = range(start, min(start + size, first + count), part)
        tally = AttackTally()
        for found in each(partial(_part, end=first + count, size=part, deep=deep), starts):
            tally = found.plus(tally.plain())
        yield tally


def _part(start: int, *, end: int, size: int, deep: bool) -> AttackTally:
    return values.campaign(start, min(size, end - start), deep=deep)


def run(
    sizes: Mapping[str, int],
    options: argparse.Namespace,
    before: Mapping[str, Any],
    save: Callable[[str, AttackTally], None],
) -> dict[str, AttackTally]:
    """Every kind in turn. `before`: tallies that are added to. `save`: is given each kind's, as it grows."""
    kinds = (others, damage, growth, commands)  # each kind that is asked as a whole is a function of its name
    whole = {name: getattr(module, name) for module in kinds for name in SIZES if hasattr(module, name)}
    tallies = {}
    with ProcessPoolExecutor(options.processes) as pool:
        each = pool.map if options.processes > 1 else map
        for name, size in sizes.items():
            began = time.monotonic()
            tally = AttackTally()
            if not size:
                continue
            if name in whole:
                blocks: Iterator[AttackTally] = iter([whole[name](size)])
            else:
                first = before[name]["asked"] if name in before else 0
                end = began + 60 * options.minutes
                blocks = mutants(first, size, deep=name == "diagnosed", each=each, until=partial(_after, end))
            for block in blocks:
                tally = block.plus(tally.plain())
                tally.seconds = round(time.monotonic() - began, 1)
                tallies[name] = tally.plus(before[name]) if name in before else tally
                save(name, tallies[name])
                print(
                    f"{name:12s} {tally.asked:9,d} asked {tally.fell.total():5,d} fell {tally.seconds:8.1f} s",
                    flush=True,
                )
            for what, often in tally.fell.most_common():
                print(f"    {often:6,d} x {what}  ({tally.first[what]})", flush=True)
    return tallies


def _after(end: float) -> bool:
    return time.monotonic() > end


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, (full, smallest) in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=sized(full, smallest))
    parser.add_argument("--minutes", type=float, default=600.0, help="for each of the two kinds of semantic mutants")
    parser.add_argument("--more", action="store_true", help="add to the committed counts")
    parser.add_argument(
        "--only-kinds",
        nargs="+",
        choices=SIZES,
        default=list(SIZES),
        metavar="KIND",
        help="the others keep their counts",
    )
    parser.add_argument("--processes", type=int, default=1, help="for semantic mutants")
    parser.add_argument("--only", type=int, metavar="NUMBER")
    parser.add_argument("--deep", action="store_true", help="with --only: diagnose it as well")
    options = parser.parse_args()
    if options.only is not None:
        with values.workplace() as folder, values.alarm(), values.emptied(folder / "run") as run_:
            values.mutant(run_, options.only)
            values.ask(run_, options.deep)
        return 0
    kept = json.loads(RESULTS.read_text())["attacks"] if RESULTS.exists() and not SMALLEST else {}
    attacks = {name: kept[name] for name in SIZES if name in kept and (options.more or name not in options.only_kinds)}

    def save(name: str, tally: AttackTally) -> None:
        attacks[name] = tally.plain()
        content = {**environment("make attack"), "attacks": {kind: attacks[kind] for kind in SIZES if kind in attacks}}
        place(RESULTS).write_text(json.dumps(content, indent=1) + "\n")

    tallies = run(
        {name: getattr(options, name) for name in SIZES if name in options.only_kinds},
        options,
        dict(attacks) if options.more else {},
        save,
    )
    return 1 if any(tally.fell for tally in tallies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
