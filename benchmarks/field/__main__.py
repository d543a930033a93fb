"""firstbreak on public runs that nobody tuned to, beside their readers: `python -m benchmarks.field`.

    python -m benchmarks.field [--part seen|unseen] [--clones FOLDER] [--texts FOLDER] [--runs FOLDER] [--misses]

Brings the files (from GitHub, or from clones named owner+name), asks firstbreak, prints the figures and writes
benchmarks/results/field.json. The part `unseen` is scored once a release: its misses are not listed.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.field import fetch, score
from benchmarks.field.index import PARTS, Reading, by_run, readings
from benchmarks.machine import environment
from benchmarks.size import place, sized

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "field.json"
RUNS = ROOT / "out" / "field"  #: not committed
FEW = 3  #: runs with SMALLEST=1


def main(arguments: Sequence[str] | None = None) -> None:
    """Fetch, ask, print, write."""
    options = _options(arguments)
    of_part = [one for one in readings() if one.part == options.part]
    sources = [
        *([fetch.texts(options.texts)] if options.texts else []),
        fetch.clones(options.clones) if options.clones else fetch.github,
    ]
    runs = list(by_run(of_part).items())[: sized(None, FEW)]
    folders = {id_: folder for id_, by in runs if (folder := _brought(by[0], options.runs, sources)) is not None}
    print(f"{len(folders)} of {len(runs)} runs of the part {options.part} could be fetched")
    said = score.ask(folders, place(options.runs / f"{options.part}.said.jsonl"), options.processes)
    found: dict[str, Any] = {"fetched": len(folders), "of": len(runs)} | {
        name: score.figures([one for one in said if one.id in {r.id for r in group}], group)
        for name, group in {
            "all": of_part,
            "language": [r for r in of_part if r.domain == "language"],
            "control": [r for r in of_part if r.domain == "control"],
            "high confidence": [r for r in of_part if r.confidence == "high"],
        }.items()
    }
    for group, values in found.items():
        print(group, json.dumps(values, indent=1))
    if options.misses and options.part == "seen":
        print(*score.misses(said, of_part), sep="\n")
    _write(options.part, found)


def _brought(reading: Reading, into: Path, sources: Sequence[fetch.Source]) -> Path | None:
    return next((folder for source in sources if (folder := fetch.bring(reading, into, source)) is not None), None)


def _write(part: str, found: dict[str, Any]) -> None:
    file = place(RESULTS)
    before = json.loads(file.read_text()) if file.exists() else {}
    here = {"readers": score.readers_agree(readings()), part: environment("python -m benchmarks.field") | found}
    file.write_text(json.dumps(before | here, indent=1) + "\n")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.field", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--part", choices=PARTS, default="seen")
    parser.add_argument("--clones", type=Path, help="a folder of clones owner+name, instead of GitHub")
    parser.add_argument("--texts", type=Path, help="a folder of threads' texts, HASH.log each")
    parser.add_argument("--runs", type=Path, default=RUNS, help="where the files are kept")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--misses", action="store_true", help="list the runs that are wrong (of the part `seen`)")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
