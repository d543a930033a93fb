"""One trial: its limits, its end, and that nothing of it is left or lost, whoever is killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from firstbreak.experiments import supervisor
from firstbreak.experiments.runner import Trial, run, run_all, stored

TREE = Path(__file__).parent / "tree.py"


def trial(folder: Path, seconds: float = 600.0, name: str = "treated-0") -> Trial:
    place = folder / name
    command = (sys.executable, "-S", str(TREE), str(place), str(seconds))
    return Trial(name=name, folder=place, arguments=command, directory=str(folder))


def until(condition: Callable[[], object], seconds: float = 20.0) -> bool:
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)
    return bool(condition())


def test_a_trial_that_ends_is_finished_and_its_workers_with_it(tmp_path: Path) -> None:
    short = trial(tmp_path, 0.3)
    result = run(short)
    assert (result.state, result.exit_code) == ("finished", 0)
    assert not supervisor.marked(short.mark)
    assert (short.folder / "metrics.jsonl").exists()


def test_a_finished_trial_is_not_run_again_and_another_command_is(tmp_path: Path) -> None:
    short = trial(tmp_path, 0.0)
    first = run(short)
    written = (short.folder / "metrics.jsonl").stat().st_mtime_ns
    assert run(short) == first
    assert (short.folder / "metrics.jsonl").stat().st_mtime_ns == written
    run(replace(short, arguments=(*short.arguments, "more")))
    assert (short.folder / "metrics.jsonl").stat().st_mtime_ns != written


def test_limits_end_a_trial_and_say_which(tmp_path: Path) -> None:
    assert run(replace(trial(tmp_path, name="long"), seconds=0.5)).state == "over_time"
    fill = "import pathlib, time; pathlib.Path('full').write_bytes(b'x' * 10**6); time.sleep(600)"
    greedy = replace(trial(tmp_path, name="full"), arguments=(sys.executable, "-S", "-c", fill), bytes=10_000)
    result = run(replace(greedy, directory=str(tmp_path / "full")))
    assert result.state == "over_disk"
    assert not result.final


def test_a_trial_is_stopped_when_nothing_more_is_to_be_learned(tmp_path: Path) -> None:
    long = trial(tmp_path)
    result = run(long, stop=lambda: (long.folder / "metrics.jsonl").exists())
    assert result.state == "stopped"
    assert result.final
    assert not supervisor.marked(long.mark)


def test_a_command_that_fails_or_does_not_exist_says_so(tmp_path: Path) -> None:
    wrong = replace(trial(tmp_path), arguments=(sys.executable, "-c", "raise SystemExit(3)"))
    assert run(wrong).exit_code == 3
    missing = run(replace(trial(tmp_path), arguments=("no-such-trainer",)))
    assert missing.state == "failed"
    assert "no-such-trainer" in missing.detail


def test_what_fails_is_tried_again(tmp_path: Path) -> None:
    count = f"p = pathlib.Path({str(tmp_path / 'tries')!r}); p.open('a').write('x')"
    code = f"import pathlib, sys; {count}; sys.exit(len(p.read_text()) < 2)"
    flaky = replace(trial(tmp_path), arguments=(sys.executable, "-S", "-c", code))
    assert run_all([flaky], processes=1)[0].state == "failed"
    assert run_all([flaky], processes=1, retries=1)[0].state == "finished"


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
@pytest.mark.parametrize("victim", ["runner", "supervisor", "trainer"])
def test_nothing_is_left_or_lost_whoever_is_killed(tmp_path: Path, victim: str) -> None:
    short, long = trial(tmp_path, 0.0, "control-0"), trial(tmp_path, name="treated-0")
    done = run(short)
    code = (
        "import sys; sys.path.insert(0, sys.argv[2]); from pathlib import Path;"
        "from tests.experiments.test_runner import trial; from firstbreak.experiments.runner import run;"
        "run(trial(Path(sys.argv[1])))"
    )
    root = str(Path(__file__).parents[2])
    with subprocess.Popen([sys.executable, "-c", code, str(tmp_path), root], cwd=root) as runner:
        assert until(lambda: len(supervisor.marked(long.mark)) == 3), "the trainer and both workers have started"
        os.kill(pid_of(victim, runner.pid, long), signal.SIGKILL)
        assert until(lambda: not supervisor.marked(long.mark)), "an orphan is left"
        if victim != "runner":
            runner.wait(20)
    assert stored(short) == done
    ended = stored(long)
    assert ended is None or not ended.final  # half a trial is no result
    assert run(replace(long, arguments=(*long.arguments[:-1], "0"))).state == "finished"


def pid_of(victim: str, runner: int, long: Trial) -> int:
    if victim == "runner":
        return runner
    trainer = int(json.loads((long.folder / "group.json").read_text()))
    if victim == "trainer":
        return trainer
    return int(Path(f"/proc/{trainer}/stat").read_text().rpartition(")")[2].split()[1])
