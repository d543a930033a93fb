"""Link, cause and false alarms with and without `firstbreak.recorder()`: `make bench-recorder`.

Every script of faults.py and healthy.py trains once with the recorder. "Without" is the same run less what the recorder wrote:
the weights are the same bit for bit (tests/recorder/test_trl.py). Options: --make FOLDER (train into it; NAME... for some),
--score FOLDER (diagnose what lies there, and write benchmarks/results/recorder.json), --cost (only the overhead),
--make-language FOLDER and --score-language FOLDER (the lab's language trainers: language.py), both with another SEED after it;
--strangers FOLDER (the scripts in strangers/, SET... for some).
"""

import json
import logging
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

import firstbreak
from benchmarks.machine import environment
from benchmarks.recorder import language, strangers
from benchmarks.recorder.faults import FAULTS
from benchmarks.recorder.healthy import HEALTHY
from benchmarks.recorder.overhead import measured
from benchmarks.recorder.said import judged, without_recorder
from benchmarks.recorder.script import Script, run
from benchmarks.size import place, sized

RESULTS = place(Path(__file__).parents[1] / "results" / "recorder.json")
NAMES = sized([*HEALTHY, *FAULTS], ["grpo", "dpo", "baseline-minus-reward", "ascent-on-the-loss-of-dpo"])


def make(name: str, folder: Path, seed: int = 0) -> Path:
    """Train one script with the recorder into a folder of its own; a run that lies there is kept."""
    out = folder / f"{name}-{seed}"
    if (out / "trainer_state.json").exists():
        return out
    shutil.rmtree(out, ignore_errors=True)
    script = Script(seed=seed)
    (HEALTHY[name] if name in HEALTHY else FAULTS[name].plant)(script)
    run(script, out, [firstbreak.recorder()])
    return out


def score(folder: Path) -> dict[str, Any]:
    """The table: for each run what is said with and without the recorder."""
    rows = []
    for path in sorted(p for p in folder.iterdir() if (p / "trainer_state.json").exists()):
        name = path.name.rpartition("-")[0]
        read = firstbreak.read(path)
        rows.append({"name": name, "with": judged(read), "without": judged(without_recorder(read))})
    return {"runs": rows, "trl": summary(rows, "with") | {"without": summary(rows, "without")}}


def summary(rows: list[dict[str, Any]], which: str) -> dict[str, Any]:
    """Shares over the faulty runs and over the healthy ones."""
    faulty = [(FAULTS[row["name"]], row[which]) for row in rows if row["name"] in FAULTS]
    healthy = [row[which] for row in rows if row["name"] in HEALTHY]
    return {
        "n_faulty": len(faulty),
        "n_healthy": len(healthy),
        "link_top1": sum(said["link"] == fault.link.value for fault, said in faulty) / max(len(faulty), 1),
        "cause_top1": sum(said["cause"] in fault.causes for fault, said in faulty) / max(len(faulty), 1),
        "healthy_accused": sum(said["link"] is not None for said in healthy) / max(len(healthy), 1),
    }


def main(arguments: list[str]) -> None:
    """Make, score and cost; or one of them."""
    logging.basicConfig(level=logging.WARNING)
    action, *rest = arguments or [""]
    folder = Path(rest[0]) if rest else Path(tempfile.mkdtemp())
    if action == "--make-language":
        return language.make(folder, *map(int, rest[1:]))
    if action == "--strangers":
        for name in rest[1:] or strangers.SETS:
            strangers.make(folder, name)
            print(json.dumps({name: strangers.score(folder, name)}, indent=1))
        return None
    if action in ("", "--make"):
        for name in rest[1:] or NAMES:
            try:
                make(name, folder)
            except Exception as error:  # the other scripts go on, and the counts show that one is missing
                print(f"{name}: {type(error).__name__}: {error}", file=sys.stderr)
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if action in ("", "--score"):
        found = score(folder)
        known |= found | {"trl": known.get("trl", {}) | found["trl"]}  # another seed stays
    if action == "--score-language":
        found = language.score(folder)
        known["language"] = known.get("language", {}) | ({"other_seed": found} if rest[1:] else found)
    if action in ("", "--cost"):
        known |= measured()
    if action != "--make":
        print(json.dumps({key: value for key, value in known.items() if key != "runs"}, indent=1))
        RESULTS.write_text(json.dumps(known | environment("make bench-recorder"), indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
