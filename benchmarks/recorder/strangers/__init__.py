"""Scripts of people who had read the README and docs/recorder.md and nothing else: `python -m benchmarks.recorder --strangers FOLDER`.

Each folder beside this file is one person's: scripts as they were written, and `runs.json` with the command of each run (first of
all what makes a model that the others start from, where a script of its own does that), the link
that the fault breaks first in that person's judgement (null: a sound script), and whether it harmed the training. Each number was
written against the recorder as it was corrected after the number before, and asked before anything of it was corrected. `plain_7`
has logs alone, and no recorder. Eight more sets, the first two of them looked at for every correction, lie in the history (commits
f43d27e0, d89e219a and e47526ca); docs/evidence.md has their figures.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import firstbreak
from benchmarks.recorder.said import judged

HERE = Path(__file__).parent
SETS = sorted(path.parent.name for path in HERE.glob("*/runs.json"))


def planned(name: str) -> dict[str, Any]:
    """Run -> its command and what is true of it."""
    made: dict[str, Any] = json.loads((HERE / name / "runs.json").read_text())
    return made


def make(folder: Path, name: str) -> None:
    """Run every script of a person in `folder`/`name`; a run that lies there is kept."""
    place = folder / name
    shutil.copytree(HERE / name, place, dirs_exist_ok=True)
    (place / "runs").mkdir(exist_ok=True)
    options = os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(Path(firstbreak.__file__).parents[1])}
    for run, row in planned(name).items():
        done = place / f"{run}.done"
        if not done.exists():
            with (place / f"{run}.log").open("w") as log:
                subprocess.run([sys.executable, *row["command"]], cwd=place, env=options, stdout=log, stderr=log, check=False)
            done.touch()
            print(f"{name} {run}", flush=True)


def score(folder: Path, name: str) -> dict[str, Any]:
    """How often the link is right on faults that harmed the training, and how often a sound script is accused."""
    rows = []
    for run, row in planned(name).items():
        if (path := folder / name / "runs" / run).exists():
            said = judged(firstbreak.read(path))
            rows.append({"run": run, "link": row["link"], "effect": row["effect"], "said": said["link"], "cause": said["cause"]})
    harmful = [row for row in rows if row["link"] and row["effect"]]
    sound = [row for row in rows if row["link"] is None]
    return {
        "harmful": len(harmful),
        "right": sum(row["said"] == row["link"] for row in harmful),
        "nothing_said": sum(row["said"] is None for row in harmful),
        "sound": len(sound),
        "accused": sorted(row["run"] for row in sound if row["said"]),
        "wrong": {row["run"]: [row["link"], row["said"], row["cause"]] for row in harmful if row["said"] != row["link"]},
        "by_link": dict(Counter(row["link"] for row in harmful)),
    }
