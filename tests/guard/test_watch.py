"""`firstbreak watch`, as a user starts it."""

import contextlib
import json
import os
import pty
import re
import subprocess
import time
from collections.abc import Iterable, Iterator
from itertools import count, islice
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from firstbreak.cli.demo import RUN
from firstbreak.cli.watch import _as_lines
from firstbreak.engine.diagnose import diagnose
from firstbreak.live.guard import view
from firstbreak.live.guard.synchronous import settings, snippet
from firstbreak.model import Action, Diagnosis, Link
from firstbreak.readers.read import read
from firstbreak.reports import brief
from firstbreak.values import replace
from tests.command import FIRSTBREAK
from tests.guard.runs import collapsing
from tests.guard.test_notify import Hook
from tests.waiting import PATIENCE, until

WATCH = [*FIRSTBREAK, "watch"]


def rows(n: int, at: int) -> list[str]:
    return [json.dumps({"step": i, **row}) + "\n" for i, row in enumerate(collapsing(n, at=at))]


def collapsed() -> Iterator[str]:
    """A run that collapses at its 100th step, and goes on like this for as long as anybody wants."""
    first = list(collapsing(260, at=100))
    for i in count():
        yield json.dumps({"step": i, **first[i if i < 260 else 200 + i % 60]}) + "\n"


def watched(*arguments: object, code: int, text: str | None = None) -> subprocess.CompletedProcess[str]:
    """What `watch` prints about a path, or the `text` on its standard input; it ends with this exit code."""
    done = subprocess.run([*WATCH, *map(str, arguments)], input=text, capture_output=True, text=True)
    assert done.returncode == code, done.stderr
    return done


@pytest.mark.parametrize(
    ("n", "at", "code", "said"),
    [(200, 100, 1, "step 199  rollback: First break at"), (100, 200, 0, "step 99  continue")],
)
def test_a_console_through_a_pipe_ends_with_its_verdict(n: int, at: int, code: int, said: str) -> None:
    done = watched("-", "--every", "0.1", "--trainer", "trl", code=code, text="".join(rows(n, at=at)))
    assert done.stdout.splitlines()[-1].startswith(said)


@pytest.mark.parametrize("text", ["hello\n" * 9, "", "step 1 loss 2\nstep 2 loss 1\n"])
def test_what_never_was_a_log_does_not_end_as_if_all_were_well(text: str) -> None:
    done = watched("-", "--every", "0.1", code=2, text=text)
    assert done.stderr.splitlines()[-1].startswith("firstbreak: console: no")


def test_a_time_has_a_unit_or_is_refused_in_one_line(tmp_path: Path) -> None:
    done = watched(tmp_path / "no", "--every", "0.1", "--for", "0.3s", code=2)
    assert "does not exist" in done.stderr
    assert "give 90, 90s, 5m or 2h" in watched(tmp_path / "no", "--for", "soon", code=2).stderr


def test_several_runs_are_not_watched_as_one(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / "metrics.jsonl").write_text("".join(rows(20, at=100)))
    done = watched(tmp_path, "--for", "1", code=2)
    assert (
        f"holds 2 runs; name one of {tmp_path}/a, {tmp_path}/b, or use `firstbreak serve` to follow all of them"
        in done.stderr
    )


def test_a_folder_that_does_not_exist_yet_is_waited_for(tmp_path: Path) -> None:
    run = tmp_path / "later"
    with subprocess.Popen(
        [*WATCH, str(run), "--every", "0.1", "--trainer", "trl", "--for", str(PATIENCE)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stderr is not None
            assert "later does not exist yet" in process.stderr.readline()
            run.mkdir()
            (run / "metrics.jsonl").write_text("".join(rows(200, at=100)))
            assert process.stdout.readline().startswith("step 199  rollback")
        finally:
            process.terminate()


def test_a_path_that_never_comes_is_one_line_when_the_time_is_over(tmp_path: Path) -> None:
    done = watched(tmp_path / "no", "--every", "0.1", "--for", "0.3", code=2)
    assert "no such file or folder" in done.stderr.splitlines()[-1]


def append(log: Path, lines: Iterable[str]) -> None:
    with log.open("a") as file:
        file.writelines(lines)
    time.sleep(0.3)  # or a slow machine would have to read a very long run


def test_a_stop_runs_the_command_once_and_sends_one_message(tmp_path: Path) -> None:
    log, out, hook = tmp_path / "$(touch exploded)" / "log.jsonl", tmp_path / "acted", Hook()
    log.parent.mkdir()
    lines = collapsed()
    log.write_text("".join(islice(lines, 150)))
    act = f'printf "%s|%s|%s\\n" "$FIRSTBREAK_ACTION" "$FIRSTBREAK_STEP" "$FIRSTBREAK_RUN" >> {out}'
    options = ["--every", "0.2", "--trainer", "trl", "--on-stop", act, "--notify", hook.url, "--for", str(PATIENCE)]
    with subprocess.Popen([*WATCH, str(log), *options], stdout=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        try:
            assert process.stdout is not None
            assert "rollback" in process.stdout.readline()
            assert until(lambda: (out.exists() and hook.got) or append(log, islice(lines, 10)))  # a stop has to last
        finally:
            process.terminate()
    (acted,) = out.read_text().splitlines()
    action, acted_at, run = acted.split("|")
    assert action == "rollback"
    assert 150 <= int(acted_at) < json.loads(next(lines))["step"]
    assert run == str(log)
    assert not list(tmp_path.rglob("exploded")), "nothing from outside is read by the shell"
    assert [message["action"] for message in hook.got] == ["rollback"]
    hook.server.shutdown()


def test_a_wrong_target_is_one_line_before_anything_is_read(tmp_path: Path) -> None:
    assert len(watched(tmp_path, "--notify", "nobody", code=2).stderr.splitlines()) == 1


def test_on_a_terminal_the_screen_stays_in_place() -> None:
    mine, theirs = pty.openpty()
    line = [*WATCH, str(RUN), "--every", "0.1", "--for", "0.1"]
    wide = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "60"}
    with subprocess.Popen(line, stdin=theirs, stdout=theirs, stderr=theirs, env=wide) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while chunk := os.read(mine, 1 << 16):
                shown += chunk
    os.close(mine)
    assert process.returncode == 1
    assert b"ROLL BACK" in shown
    assert re.search(rb"last written [\w .]+ ago; verdicts so far: rollback \(step 160\)", shown)
    assert b"\x1b[" in shown, "the cursor is moved"


@pytest.mark.parametrize(("width", "encoding"), [(80, "utf-8"), (60, "ascii"), (40, "utf-8")])
def test_the_screen_fits(width: int, encoding: str) -> None:
    screen = view.renderable(diagnose(read(RUN))).string(width, encoding=encoding)
    assert max(map(len, screen.splitlines())) <= width
    for link in Link:
        if width >= 80:
            assert link.value.replace("_", " ") in screen
    assert "step 160 of 160" in screen.replace("\n", " ")
    assert "length.clipped_ratio" in screen or width < 80


def live(until: int) -> Diagnosis:
    """The demo run as far as this step."""
    run = read(RUN)
    series = {n: s.between(-1, until) for n, s in run.series.items()}
    return diagnose(replace(run, series={n: s for n, s in series.items() if len(s)}))


def test_a_number_of_a_stretch_is_told_from_the_last_value() -> None:
    dx = live(112)
    finding = next(o.finding for o in dx.findings if o.detector == "truncation")
    assert finding is not None
    said = brief.numbers(dx.run, finding)
    assert re.match(r"2\d %: mean of steps 5\d to 112; last value: 0.9844$", said), said
    shown = " ".join(view.renderable(dx).string(200).split())
    assert "raise the limit" not in shown  # one thing to do on one screen


def test_the_curves_keep_their_rows_from_one_verdict_to_the_next() -> None:
    rows = view.chosen(live(60))
    later = view.chosen(live(112), rows)
    assert len(later) == view.MOST_CURVES
    assert [name for name in rows if name in later] == [old for old, new in zip(rows, later, strict=True) if old == new]
    assert set(view.chosen(live(112))[:3]) <= set(later)  # what the findings speak of


def test_the_screen_says_how_old_its_last_row_is_and_the_verdicts_so_far() -> None:
    shown = view.renderable(live(112), (), lambda: "last written 3 seconds ago").string(120)
    assert "\nlast written 3 seconds ago\n" in shown


def test_in_a_pipe_a_verdict_that_does_not_last_is_no_line(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["continue", *["watch", "continue"] * 6, *["rollback"] * 5, "watch"]
    told = [
        SimpleNamespace(
            verdict=SimpleNamespace(action=Action(word), summary=f"at {i}", do_first=""),
            first_break=None,
            run=SimpleNamespace(last_step=i),
        )
        for i, word in enumerate(words)
    ]
    list(_as_lines(cast(Iterator[Diagnosis], iter(told)), "x"))
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert [(line[1], line[2]) for line in lines] == [("0", "continue:"), ("13", "rollback:"), ("18", "watch:")]


def test_the_switch_to_synchronous_training_is_offered_where_stale_data_are_suspected(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    ages = [{"step": i, "rollout/reward": 0.5, "ppo_actor/update/version_stats/sample_staleness_theta_avg": 0.4 * i,
             "ppo_actor/update/version_stats/sample_staleness_theta_max": 0.5 * i} for i in range(80)]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in ages))
    dx = diagnose(read(log, trainer="areal"))
    assert snippet(dx) == (
        "rollout:\n  max_head_offpolicyness: 0\nactor:\n  recompute_logprob: false\n  use_decoupled_loss: false"
    )
    assert "max_head_offpolicyness: 0" in view.renderable(dx).string()
    assert snippet(diagnose(read(RUN))) == "", "not where nothing speaks for it"
    assert settings("sb3") == {}
