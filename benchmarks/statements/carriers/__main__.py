"""How many of the guides' other statements are carried: `make statements`, or

    python -m benchmarks.statements.carriers [--only REGEX] [--seeds A B] [--rows FILE] [--show ID --out FOLDER] [--writers]

Every pair is made with several noise seeds, asked as a user would ask, and judged. Writes the keys `carriers*` of
benchmarks/results/statements.json where all pairs were run.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import re
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.machine import environment
from benchmarks.size import SMALLEST, place
from benchmarks.statements.__main__ import RESULTS
from benchmarks.statements.carriers.carrier import SEEDS, Answer, Carrier, Try, carriers, place_of, run, tries
from benchmarks.statements.carriers.trainers_code import BY_HAND, writers_of
from firstbreak.engine.stats.proportion import wilson

#: A pair of each group, which take a few seconds together: what SMALLEST=1 runs.
SMALL = r"read_high|calls_grow|reward_is_none|rewards_almost_all_one|loss_scale|private_test"

SAMPLES = ("samples", "agents", "samples_again", "strangers")  #: the groups whose inputs are dumps of samples


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the pairs, or show one input."""
    options = _options(arguments)
    wanted = [c for c in carriers().values() if re.search(SMALL if SMALLEST else options.only, c.id)]
    if not wanted:
        sys.exit(f"no pair is called like {options.only!r}; known: {', '.join(carriers())}")
    if options.writers:
        return print(counted(wanted))
    seeds = range(*options.seeds)
    known = tries(wanted, seeds)
    if options.show:
        return show(options.show, options.out, known)
    start = time.monotonic()
    answers = sorted(_answers(known, options.processes, options.rows), key=lambda a: a.tried)
    report = figures(wanted, answers) | {"carriers": totals(answers, environment("make statements"), seeds)}
    print(table(report, wanted))
    print(f"{len(answers)} inputs in {time.monotonic() - start:.0f} s")
    if SMALLEST or options.only == "":
        old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept = {key: value for key, value in old.items() if not key.startswith("carriers")}
        place(RESULTS).write_text(json.dumps(kept | report, indent=1) + "\n")
    return None


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.statements.carriers")
    parser.add_argument("--only", default="", help="pairs whose id this regular expression finds")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 1 if SMALLEST else SEEDS), metavar=("FROM", "TO"))
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--rows", type=Path, help="a file that keeps finished inputs, to continue a long run")
    parser.add_argument(
        "--show", metavar="ID", help="make this input, as in `read_high_low_random/trl/0/broken`, and ask"
    )
    parser.add_argument(
        "--writers", action="store_true", help="make one input of each pair of samples, and count who wrote the dumps"
    )
    parser.add_argument("--out", type=Path, help="with --show: the folder that it is made in")
    return parser.parse_args(arguments)


def show(name: str, out: Path | None, known: Sequence[Try]) -> None:
    """Make one input, and print what is said."""
    full = name if name.startswith("carriers.") else f"carriers.{name}"
    found = next((t for t in known if t.id.startswith(full)), None)
    if found is None:
        sys.exit(f"no input is called {name!r}; they are called like {known[0].id}")
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
    answer = _answer(found, out and out.resolve())
    print(f"{found.id}: {'right' if answer.right else 'WRONG'}\n{answer.said}")


def counted(wanted: Iterable[Carrier]) -> str:
    """Of the pairs of samples, how many have a dump that one trainer's own code wrote, all of it."""
    found = Counter[str]()
    for known in wanted:
        if known.make.__module__.rpartition(".")[2] in SAMPLES:
            found.update(_writer(Try(known.id, variant, 0, True)) for variant in known.variants)
    every = found.total()
    own = every - found[BY_HAND]
    share = f" ({own / every:.1%})" if every else ""
    each = ", ".join(f"{number} {name}" for name, number in found.most_common())
    return f"{own} of {every} dumps of samples{share} are written by trainers' own code: {each}"


def _writer(tried: Try) -> str:
    """Who wrote the files of an input; by hand where not all are one trainer's."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        folder = Path(name)
        carriers()[tried.carrier].make(place_of(tried, folder), tried.broken)
        writers = writers_of(folder)
    return writers.pop() if len(writers) == 1 else BY_HAND


def _answer(tried: Try, folder: Path | None = None) -> Answer:
    """An input on which firstbreak breaks is a wrong answer, with the last line of the error."""
    try:
        return run(tried, folder)
    except Exception:
        return Answer(tried, False, traceback.format_exc().strip().splitlines()[-1], 0.0)


def _answers(known: Sequence[Try], processes: int, rows: Path | None) -> Iterator[Answer]:
    """The answers to all; a file of rows keeps them, and what it holds is not run again."""
    done: dict[str, Answer] = {}
    for line in rows.read_text().splitlines() if rows is not None and rows.exists() else ():
        row = json.loads(line)
        answer = Answer(Try(**row.pop("tried")), **row)
        done[answer.tried.id] = answer
    yield from (done[t.id] for t in known if t.id in done)
    missing = [t for t in known if t.id not in done]
    with multiprocessing.get_context("fork").Pool(processes) as pool:
        for answer in pool.imap_unordered(_answer, missing):
            if rows is not None:
                with rows.open("a") as out:
                    out.write(json.dumps(asdict(answer)) + "\n")
            yield answer


# --- figures ---------------------------------------------------------------------------------------------------------


def _rate(answers: Iterable[Answer]) -> dict[str, Any]:
    right = [a.right for a in answers]
    low, high = wilson(sum(right), len(right)) if right else (0.0, 1.0)
    return {"right": sum(right), "runs": len(right), "interval": [round(low, 4), round(high, 4)]}


def totals(answers: Sequence[Answer], made: dict[str, Any], seeds: range) -> dict[str, Any]:
    """Rates of all, and every failure."""
    broken, healthy = ([a for a in answers if a.tried.broken is side] for side in (True, False))
    failed = [a for a in answers if not a.right]
    return made | {
        "pairs": len({(a.tried.carrier, a.tried.variant) for a in answers}),
        "seeds": [seeds.start, seeds.stop],
        "fires": _rate(broken),
        "silent": _rate(healthy),
        "failures": {a.tried.id: a.said[:300] for a in failed},
    }


def figures(wanted: Iterable[Carrier], answers: Sequence[Answer]) -> dict[str, Any]:
    """Of each pair: its line, rates, the variants on which it goes wrong, and what a user reads."""
    report: dict[str, Any] = {}
    for known in wanted:
        own = [a for a in answers if a.tried.carrier == known.id]
        fires, silent = ([a for a in own if a.tried.broken is side] for side in (True, False))
        report[known.id] = {
            "line": known.line,
            "quote": known.quote,
            "variants": list(known.variants),
            "fires": _rate(fires),
            "silent": _rate(silent),
            "missed": sorted({a.tried.variant or "only" for a in fires if not a.right}),
            "loud": sorted({a.tried.variant or "only" for a in silent if not a.right}),
            "message": next((a.said for a in fires if a.right), ""),
        }
    return report


def table(report: dict[str, Any], wanted: Iterable[Carrier]) -> str:
    """One line for each pair, the totals, and every failure."""
    lines = [f"{'pair':56} {'fires':>7} {'silent':>7}  wrong on"]
    for known in wanted:
        row = report[known.id]
        wrong = [*row["missed"], *(f"loud on {v}" for v in row["loud"])]
        counts = (f"{row[side]['right']:>3}/{row[side]['runs']:<3}" for side in ("fires", "silent"))
        lines.append(f"{known.id:56} {' '.join(counts)}  {', '.join(wrong)}")
    every = report["carriers"]
    for word in ("fires", "silent"):
        right, runs = every[word]["right"], every[word]["runs"]
        low, high = every[word]["interval"]
        lines.append(f"{word}: {right}/{runs} = {right / max(1, runs):.4f} (95 % interval {low:.4f} to {high:.4f})")
    return "\n".join(
        [*lines, f"{every['pairs']} pairs", *(f"  {id_}\n    {said}" for id_, said in every["failures"].items())]
    )


if __name__ == "__main__":
    main()
