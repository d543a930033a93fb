"""The way of a new user: a script that breaks, its diagnosis, an experiment on it, a comparison and a close-out.

A folder of scripts has a `scripts.toml` that says how each of them is started, where its run lies, and how it is broken.
"""

import importlib.util
import json
import os
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.command import FIRSTBREAK

HERE = Path(__file__).parent
FROZEN, UNSEEN = HERE / "scripts", HERE / "unseen_scripts"
#: script -> the lines that a user adds to the file that `experiment init` has written: none so far
WRITTEN: Mapping[str, tuple[str, ...]] = {}
ENVIRONMENT = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "PYTHONWARNINGS": "ignore"}
#: Ray gives its processes 15 seconds to start, and a busy machine takes longer
TOO_BUSY = "The current node timed out during startup"


class Stopped(Exception):
    """The way ends here: the stage at which it did, and why."""

    def __init__(self, stage: str, why: str) -> None:
        super().__init__(f"{stage}: {why}")
        self.stage, self.why = stage, why


class TooBusy(Exception):
    """Nothing was learned about firstbreak: the machine did not start the trainer."""


def scripts(folder: Path) -> dict[str, dict[str, Any]]:
    """Name -> how it is started, of each script of a folder."""
    return tomllib.loads((folder / "scripts.toml").read_text("utf-8"))


def missing(how: dict[str, Any]) -> list[str]:
    """The packages that the script needs and that are not installed."""
    return [name for name in how.get("needs", ()) if importlib.util.find_spec(name) is None]


def walk(folder: Path, name: str, home: Path) -> None:
    """Go all the way with one script, in the new folder `home`."""
    how = scripts(folder)[name]
    shutil.copytree(folder, home)
    command = _broken(how, home / f"{name}.py")
    _started(command, home)
    (place,) = home.glob(how["run"])
    run = str(place.relative_to(home))

    diagnosis = json.loads(_firstbreak("diagnose", "diagnose", run, "--format", "json", cwd=home))
    _must(isinstance(diagnosis, dict) and bool(diagnosis["causes"]), "diagnose", "no cause is named")
    _firstbreak("init", "experiment", "init", "--run", run, *shlex.split(command), cwd=home)
    with (home / "firstbreak.toml").open("a") as toml:
        toml.writelines(f"{line}\n" for line in WRITTEN.get(name, ()))
    plan = _firstbreak("plan", "experiment", "plan", run, "--all", cwd=home)
    _must("Next: firstbreak experiment run " in plan, "plan", plan[-1000:])
    _experiment(run, place, home)
    trial = next(home.glob("firstbreak-experiments/*/*/treated-0"))
    _must("what differs" in _firstbreak("compare", "compare", run, str(trial), cwd=home), "compare", "no differences")
    _firstbreak("closeout", "closeout", run, "-o", "done", cwd=home)
    _must((home / "done" / "summary.md").exists(), "closeout", "no summary")


def _broken(how: dict[str, Any], script: Path) -> str:
    """Break the script, or the command that starts it; the command."""
    if edit := how["broken"].get("edit"):
        text = script.read_text()
        assert text.count(edit[0]) == 1
        script.write_text(text.replace(*edit))
    return f"{how['command']} {how['broken'].get('options', '')}".strip()


def _started(command: str, cwd: Path) -> None:
    done = subprocess.run(
        [sys.executable, *shlex.split(command)], cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True
    )
    if TOO_BUSY in done.stderr:
        raise TooBusy
    _must(done.returncode == 0, "run", done.stderr[-2000:])


def _experiment(run: str, place: Path, home: Path) -> None:
    """The experiment that is proposed first: its trials end well, one question is answered, and the run is left alone."""
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    _firstbreak("experiment", "experiment", "run", "next", run, cwd=home)
    outputs = [path.read_text() for path in home.glob("firstbreak-experiments/*/*/*/output.txt")]
    if any(TOO_BUSY in output for output in outputs):
        raise TooBusy
    (ledger,) = home.glob("firstbreak-experiments/*/ledger.jsonl")
    events = [json.loads(line) for line in ledger.read_text().splitlines()]
    states = {event["state"] for event in events if event["event"] == "trial"}
    _must(states <= {"finished", "stopped"}, "experiment", f"trials {states}: {''.join(outputs)[-2000:]}")
    answers = [answer for event in events if event["event"] == "answered" for answer in event["answers"]]
    _must(any(answer["yes"] is not None for answer in answers), "experiment", f"no answer: {answers}")
    after = {path: path.stat().st_mtime_ns for path in place.rglob("*") if path.is_file()}
    _must(after == before, "experiment", "the run's own files have changed")


def _firstbreak(stage: str, *arguments: str, cwd: Path) -> str:
    command = [*FIRSTBREAK, *arguments]
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, capture_output=True, text=True)
    _must(done.returncode in (0, 1), stage, done.stderr)
    return done.stdout


def _must(holds: bool, stage: str, why: str) -> None:
    if not holds:
        raise Stopped(stage, why)
