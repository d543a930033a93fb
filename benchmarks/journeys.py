"""How many scripts, as users write them, go all the way at the lines that a user had to write: benchmarks/results/journeys.json.

    python -m benchmarks.journeys [NAME...]

The way: the script breaks, `diagnose` names a cause, `experiment init` and `plan` say what to run, `experiment run next` gets an
answer from a trial, `compare` tells trial and run apart, `closeout` collects what is there (tests/experiments/journey.py). The
keys at the top are of the ten scripts that were frozen before `experiment init` was written; `unseen` are ten more, written later
and frozen before anything was corrected for them, with what the first try gave.

Each script replaces its own row, so that an interrupted benchmark can be continued with the names that are left.
"""

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from tests.experiments.journey import FROZEN, UNSEEN, WRITTEN, Stopped, TooBusy, missing, scripts, walk

from benchmarks.machine import environment
from benchmarks.size import place, sized

RESULT = Path(__file__).parent / "results" / "journeys.json"
#: the first try of the unseen scripts as they were frozen, before anything was corrected (2026-11-25). Ray did not start for one.
#: Another ended by itself, before firstbreak had a part in it; with a milder setting it went all the way with the same code.
FIRST_TRY = {"n_scripts": 10, "completed": 4, "not_decided": 2}
FOLDERS = {name: folder for folder in (FROZEN, UNSEEN) for name in scripts(folder)}


def tried(name: str) -> dict[str, Any]:
    """What came of one script."""
    folder, began = FOLDERS[name], time.monotonic()
    row: dict[str, Any] = {"lines_to_write": len(WRITTEN.get(name, ())), "completed": True}
    if lacking := missing(scripts(folder)[name]):
        return row | {"completed": None, "why": f"not installed: {', '.join(lacking)}"}
    home = Path(tempfile.mkdtemp(prefix="firstbreak-journey-"))
    try:
        walk(folder, name, home / "home")
    except Stopped as stopped:
        row |= {"completed": False, "stage": stopped.stage, "why": stopped.why[-500:]}
    except TooBusy:
        row |= {"completed": None, "why": "the machine was too busy to start Ray"}
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return row | {"seconds": round(time.monotonic() - began, 1)}


def summary(names: Iterable[str], rows: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The figures of one set of scripts."""
    found = [rows[name] for name in names if name in rows]
    written = [row["lines_to_write"] for row in found]
    return {
        "n_scripts": len(found),
        "completed": sum(row["completed"] is True for row in found),
        "not_decided": sum(row["completed"] is None for row in found),
        "lines_to_write_median": statistics.median(written) if written else None,
        "lines_to_write_max": max(written, default=None),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="scripts; all if left out")
    parser.add_argument("--output", type=Path, default=place(RESULT))
    given = parser.parse_args()
    if unknown := set(given.names) - FOLDERS.keys():
        parser.error(f"no such script: {', '.join(sorted(unknown))}")
    names = given.names or sized(list(FOLDERS), ["custom_reinforce"])
    result = json.loads(given.output.read_text()) if given.output.exists() else {}
    rows = result.get("scripts", {})
    for name in names:
        rows[name] = tried(name)
        print(f"{name}: {rows[name]}", file=sys.stderr, flush=True)
        result = summary(scripts(FROZEN), rows)
        result["unseen"] = summary(scripts(UNSEEN), rows) | {"first_try": FIRST_TRY}
        result["scripts"] = {known: rows[known] for known in FOLDERS if known in rows}
        result |= environment("make bench-journeys")
        given.output.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{given.output}: {result['completed']} of {result['n_scripts']}, unseen {result['unseen']['completed']}")


if __name__ == "__main__":
    main()
