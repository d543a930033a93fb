"""One trial: its limits, its end, and that nothing of it is left or lost, whoever is killed."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from firstbreak.experiments import supervisor
from firstbreak.experiments.runner import Trial, run, run_all, stored
from tests.waiting import PATIENCE, until

TREE = Path(__file__).parent / "tree.py"


def trial(folder: Path, seconds: float | Path = 600.0, name: str = "treated-0") -> Trial:
    place = folder / name
    command = (sys.executable, "-S", str(TREE), str(place), str(seconds))
    return Trial(name=name, folder=place, arguments=command, directory=str(folder))


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


@contextlib.contextmanager
def killed_by_hand(started: Trial) -> Iterator[subprocess.Popen[bytes]]:
    """A process of its own that runs the trial, and that nobody waits for before it has ended."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[3]); from pathlib import Path; from dataclasses import replace;"
        "from tests.experiments.test_runner import trial; from firstbreak.experiments.runner import run;"
        "run(replace(trial(Path(sys.argv[1])), arguments=tuple(json.loads(sys.argv[2]))))"
    )
    root, arguments = str(Path(__file__).parents[2]), json.dumps(started.arguments)
    command = [sys.executable, "-c", code, str(started.folder.parent), arguments, root]
    with subprocess.Popen(command, cwd=root) as runner:
        try:
            yield runner
        finally:
            runner.kill()


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@ON_LINUX
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("victim", ["runner", "supervisor", "trainer"])
def test_nothing_is_left_or_lost_whoever_is_killed(tmp_path: Path, victim: str, ending: signal.Signals) -> None:
    short, long = trial(tmp_path, 0.0, "control-0"), trial(tmp_path, name="treated-0")
    done = run(short)
    with killed_by_hand(long) as runner:
        assert until(lambda: len(supervisor.marked(long.mark)) == 4), "supervisor, trainer and both workers"
        os.kill(pid_of(victim, runner.pid, long), ending)
        assert until(lambda: not supervisor.marked(long.mark)), "an orphan is left"
        if victim != "runner":
            runner.wait(PATIENCE)
    assert stored(short) == done
    ended = stored(long)
    assert ended is None or not ended.final  # half a trial is no result
    assert run(replace(long, arguments=(*long.arguments[:-1], "0"))).state == "finished"


@ON_LINUX
def test_what_outlives_a_killed_runner_writes_nothing_into_the_next_attempt(tmp_path: Path) -> None:
    end = tmp_path / "end"
    waits = f"import pathlib, time\nwhile not pathlib.Path({str(end)!r}).exists(): time.sleep(0.02)"
    waiting = replace(trial(tmp_path), arguments=(sys.executable, "-S", "-c", waits))
    with killed_by_hand(waiting):
        assert until(lambda: (waiting.folder / "group.json").exists())
        keeper = pid_of("supervisor", 0, waiting)
        os.kill(keeper, signal.SIGSTOP)  # it notices only later that its runner is gone
    end.touch()
    result = run(waiting)
    with contextlib.suppress(ProcessLookupError):
        os.kill(keeper, signal.SIGCONT)
    assert until(lambda: gone(keeper))
    assert stored(waiting) == result
    assert result.state == "finished"


def gone(process: int) -> bool:
    """Whether a process has ended, collected by its parent or not."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


def pid_of(victim: str, runner: int, long: Trial) -> int:
    if victim == "runner":
        return runner
    trainer = int(json.loads((long.folder / "group.json").read_text()))
    if victim == "trainer":
        return trainer
    return parent(trainer)


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])
