"""The frozen scripts, as users write them, from a broken run to a close-out, and the lines that a user had to write for it."""

from __future__ import annotations

import importlib.util
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

SCRIPTS = Path(__file__).parent / "scripts"
HOW: dict[str, dict[str, Any]] = tomllib.loads((SCRIPTS / "scripts.toml").read_text("utf-8"))
NEEDS = {
    "trl": "trl",
    "sb3": "stable_baselines3",
    "zoo": "stable_baselines3",
    "verl": "hydra",
    "rllib": "ray",
    "cleanrl": "gymnasium",
}
#: what a user adds to the file that `init` has written: nothing so far
WRITTEN: dict[str, list[str]] = {name: [] for name in HOW}
#: Ray gives its processes 15 seconds to start, and a busy machine takes longer
TOO_BUSY = "The current node timed out during startup"
pytestmark = [pytest.mark.trainer, pytest.mark.slow]
ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}


def started(command: str, cwd: Path) -> None:
    done = subprocess.run(
        [sys.executable, *shlex.split(command)], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True
    )
    if TOO_BUSY in done.stderr:
        pytest.skip(TOO_BUSY)
    assert done.returncode == 0, done.stderr[-2000:]


def firstbreak(*arguments: str, cwd: Path) -> str:
    command = [sys.executable, "-c", "from firstbreak.cli import main; main()", *arguments]
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.mark.parametrize("name", HOW)
def test_a_broken_run_goes_all_the_way(name: str, tmp_path: Path) -> None:
    needed = NEEDS.get(name.partition("_")[0])
    if needed and importlib.util.find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed")
    home = tmp_path / "home"
    shutil.copytree(SCRIPTS, home)
    how, script = HOW[name], home / f"{name}.py"
    command = how["command"]
    if edit := how["broken"].get("edit"):
        assert script.read_text().count(edit[0]) == 1
        script.write_text(script.read_text().replace(*edit))
    command += " " + how["broken"].get("options", "")
    started(command, home)
    (place,) = home.glob(how["run"])
    run = str(place.relative_to(home))

    assert json.loads(firstbreak("diagnose", run, "--format", "json", cwd=home))["causes"]
    firstbreak("experiment", "init", "--run", run, *shlex.split(command), cwd=home)
    with (home / "firstbreak.toml").open("a") as toml:
        toml.writelines(f"{line}\n" for line in WRITTEN[name])
    assert "Next: firstbreak experiment run " in firstbreak("experiment", "plan", run, "--all", cwd=home)
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    firstbreak("experiment", "run", "next", run, cwd=home)
    if any(TOO_BUSY in path.read_text() for path in home.glob("firstbreak-experiments/*/*/*/output.txt")):
        pytest.skip(TOO_BUSY)
    (ledger,) = home.glob("firstbreak-experiments/*/ledger.jsonl")
    events = [json.loads(line) for line in ledger.read_text().splitlines()]
    assert {e["state"] for e in events if e["event"] == "trial"} <= {"finished", "stopped"}
    assert any(a["yes"] is not None for e in events if e["event"] == "answered" for a in e["answers"])
    assert {
        path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()
    } == before  # the run is left alone

    trial = next(home.glob("firstbreak-experiments/*/*/treated-0"))
    assert "what differs" in firstbreak("compare", run, str(trial), cwd=home)
    firstbreak("closeout", run, "-o", "done", cwd=home)
    assert (home / "done" / "summary.md").exists()


def test_a_user_writes_hardly_a_line() -> None:
    counts = [len(lines) for lines in WRITTEN.values()]
    assert len(counts) == 10
    assert statistics.median(counts) <= 2
    assert max(counts) <= 8
