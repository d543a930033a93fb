"""Do two versions of the code say the same of the same runs? What a change of the structure must not change.

    make same-diagnoses ARGS="save BEFORE.jsonl --source OTHER/src"    # with the code of another checkout
    make same-diagnoses ARGS="save AFTER.jsonl"
    make same-diagnoses ARGS="compare BEFORE.jsonl AFTER.jsonl"

The runs are all of the corpus, the published runs and cases beside the project where they are, the tests' data and the
demo. Every field that is not prose is compared: action, first break, causes with probabilities and weights, findings with
onsets and intervals, states of links, best checkpoint, forecasts, outcomes. `benchmarks/renames.csv` says which names
are others now (kind, before, after), and `benchmarks/differences.csv` which differences are meant (run or `*`, field or
what it begins with, why).
Saving goes on where it was stopped.
"""

import argparse
import csv
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from firstbreak_lab.archives import unpack

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared"
RENAMES = Path(__file__).with_name("renames.csv")
MEANT = Path(__file__).with_name("differences.csv")
CHUNK = 40  #: runs that one process reads
CLOSE = 1e-9  #: relative distance of two floats that are one: sums may be made in another order


def runs(unpacked: Path) -> dict[str, Path]:
    """Name -> path of every run; archives of the corpus are unpacked below `unpacked` first."""
    found: dict[str, Path] = {}
    for archive in sorted((ROOT / "corpus").glob("*/*.tar.xz")):
        name = f"{archive.parent.name}/{archive.name.removesuffix('.tar.xz')}"
        folder = unpacked / name
        if not folder.exists():
            unpack(archive, folder)
        found[name] = folder
    for place in (SHARED / "runs", ROOT / "tests" / "data"):
        found |= {f"{place.name}/{p.name}": p for p in sorted(place.glob("*")) if p.is_dir()}
    found |= {f"cases/{p.stem}": p for p in sorted((SHARED / "cases").glob("c*.csv"))}
    demo = next(p for p in (ROOT / "src").rglob("demo/run") if p.is_dir())
    return found | {"demo": demo}


def save(target: Path, source: Path, processes: int, only: str = "") -> None:
    """Diagnose every run with the code below `source`, one line of JSON each."""
    with tempfile.TemporaryDirectory() as unpacked:
        everything = {name: path for name, path in runs(Path(unpacked)).items() if only in name}
        done = {json.loads(line)["name"] for line in target.open()} if target.exists() else set()
        rest = [(name, path) for name, path in everything.items() if name not in done]
        chunks = [rest[i : i + CHUNK] for i in range(0, len(rest), CHUNK)]
        with target.open("a") as out, ThreadPoolExecutor(processes) as pool:
            for i, rows in enumerate(pool.map(lambda chunk: list(_diagnosed(chunk, source)), chunks), 1):
                out.writelines(json.dumps(row) + "\n" for row in rows)
                out.flush()
                print(f"[{min(i * CHUNK, len(rest))}/{len(rest)}]", file=sys.stderr)


#: one process for many runs: the paths come in on stdin, and one line of JSON goes out for each run
_PROGRAM = """
import json, sys
from firstbreak.cli.diagnose import command
from click.testing import CliRunner
for line in sys.stdin:
    name, path = json.loads(line)
    result = CliRunner().invoke(command, ["--format", "json", "--fail-on", "never", path])
    try:
        answer = json.loads(result.stdout)
    except ValueError:
        answer = {"error": (result.stderr.strip() or repr(result.exception)).replace(path, "PATH")}
    print(json.dumps([name, answer]))
"""


def _diagnosed(chunk: list[tuple[str, Path]], source: Path) -> Iterator[dict[str, Any]]:
    asked = "".join(json.dumps([name, str(path)]) + "\n" for name, path in chunk)
    environment = {**os.environ, "PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"}
    answered = subprocess.run(
        [sys.executable, "-c", _PROGRAM], input=asked, stdout=subprocess.PIPE, text=True, env=environment, check=True
    )
    for line in answered.stdout.splitlines():
        name, answer = json.loads(line)
        for i, one in enumerate(answer if isinstance(answer, list) else [answer]):
            yield {"name": f"{name}#{i}" if isinstance(answer, list) else name, **facts(one)}


def facts(dx: Mapping[str, Any]) -> dict[str, Any]:
    """What a diagnosis says, without its prose."""
    if "error" in dx:
        return {"error": dx["error"]}
    return {
        "run": {key: dx["run"][key] for key in ("format", "trainer", "algorithm", "metrics", "not_understood")},
        "action": dx["verdict"]["action"],
        "first_break": dx["first_break"],
        "causes": {
            c["id"]: {
                "link": c["link"],
                "probability": c["probability"],
                "evidence": [[w["finding"], w["weight"]] for w in c["evidence"]],
                "experiment": c["experiment"] and [c["experiment"]["id"], c["experiment"]["overrides"]],
            }
            for c in dx["causes"]
        },
        "findings": {
            f["detector"]: [f["link"], f["severity"], f["confidence"], f["metric"], f["onset"], f["interval"]]
            for f in dx["findings"]
        },
        "links": {link: verdict["status"] for link, verdict in dx["links"].items()},
        "best_checkpoint": dx["best_checkpoint"],
        "cost": dx["cost"],
        "forecasts": [[f["metric"], f.get("wall", f.get("level")), f["within"]] for f in dx["forecasts"]],
        "outcomes": {o["detector"]: [o["link"], _looked(o["status"])] for o in dx["outcomes"]},
        "suppressed": dx["suppressed"],
    }


def _looked(status: str) -> str:
    """A check that could not look is one thing here: whether its input was missing or could not exist is its note's matter,
    and what follows from it stands in the states of the links."""
    return "not_looked" if status in ("not_measured", "not_applicable") else status


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """`value` with every name that is another now."""
    match value:
        case str():
            return names.get(value, value)
        case list():
            return [renamed(item, names) for item in value]
        case dict():
            return {names.get(key, key): renamed(item, names) for key, item in value.items()}
    return value


def differences(before: Any, after: Any, place: str = "") -> Iterator[tuple[str, Any, Any]]:
    """(field, before, after) of everything that differs."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before | after:
            yield from differences(before.get(key), after.get(key), f"{place}.{key}".lstrip("."))
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for i, (a, b) in enumerate(zip(before, after, strict=True)):
            yield from differences(a, b, f"{place}[{i}]")
    elif not _same(before, after):
        yield place, before, after


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, (int, float)) and isinstance(b, (int, float)) and not isinstance(a, bool):
        return math.isclose(a, b, rel_tol=CLOSE, abs_tol=CLOSE)
    return bool(a == b)


def compare(before: Path, after: Path) -> int:
    """Print what differs; 1 where something does that is not meant, 2 where runs are missing."""
    names = {row["before"]: row["after"] for row in _rows(RENAMES)}
    meant = [(row["run"], row["field"]) for row in _rows(MEANT)]
    old, new = _saved(before), _saved(after)
    if missing := old.keys() ^ new.keys():
        print(f"{len(missing)} runs stand in one file only: {', '.join(sorted(missing)[:5])}")
        return 2
    listed, changed, actions = set(), set(), 0
    for name in old:
        for place, a, b in differences(renamed(old[name], names), new[name]):
            if any(run in ("*", name) and place.startswith(field) for run, field in meant):
                listed.add(name)
                continue
            changed.add(name)
            actions += place == "action"
            print(f"{name}: {place}: {a!r} -> {b!r}")
    print(
        f"{len(old)} runs, {len(names)} names are others now. {len(listed)} runs differ as {MEANT.name} lists, "
        f"{len(changed)} in anything else ({len(changed) / max(1, len(old)):.2%}), {actions} of these in the action."
    )
    return 1 if changed else 0


def _rows(path: Path) -> Iterable[dict[str, str]]:
    return list(csv.DictReader(path.open())) if path.exists() else []


def _saved(path: Path) -> dict[str, dict[str, Any]]:
    rows = (json.loads(line) for line in path.open())
    return {row.pop("name"): row for row in rows}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("save", "compare"))
    parser.add_argument("files", type=Path, nargs="+")
    parser.add_argument("--source", type=Path, default=ROOT / "src")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--only", default="", help="runs whose name holds this")
    asked = parser.parse_args()
    if asked.what == "compare":
        return compare(*asked.files)
    save(asked.files[0], asked.source.absolute(), asked.processes, asked.only)
    return 0


if __name__ == "__main__":
    sys.exit(main())
