"""Thousands of runs, here some: what is found, in what order, and that nothing is done twice or lost."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from firstbreak.compare.survey import find, survey, table
from firstbreak.compare.survey.runs import SurveyRow, load
from firstbreak.experiments import supervisor
from tests.command import FIRSTBREAK
from tests.make import learning
from tests.waiting import PATIENCE, until

pytestmark = pytest.mark.slow

BROKEN = Path(__file__).parents[2] / "src" / "firstbreak" / "cli" / "demo" / "run"


def healthy(folder: Path, points: int = 40) -> Path:
    folder.mkdir(parents=True)
    rows = ({"step": i, "reward": float(v), "kl": 0.01} for i, v in enumerate(learning(points)))
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    root = tmp_path / "runs"
    for i in range(6):
        healthy(root / f"team-{i % 2}" / f"seed-{i}")
    (root / "broken").mkdir()
    for name in ("trainer_state.json", "training_args.json", "completions.jsonl"):
        (root / "broken" / name).write_bytes((BROKEN / name).read_bytes())
    (root / "torn").mkdir()
    (root / "torn" / "metrics.jsonl").write_bytes(b'{"step": 1, "rew')
    return root


def test_every_run_is_found_at_whatever_depth(runs: Path) -> None:
    found = {path.name for path in find(runs)}
    assert found >= {*(f"seed-{i}" for i in range(6)), "broken"}
    assert list(find(runs / "broken")) == [runs / "broken"]


def test_parts_of_a_run_are_not_runs(tmp_path: Path) -> None:
    run = healthy(tmp_path / "run")
    healthy(run / "eval")
    assert list(find(tmp_path / "run")) == [run]


def test_what_needs_attention_comes_first_and_what_is_torn_is_said(runs: Path, tmp_path: Path) -> None:
    rows = survey([runs], store=tmp_path / "store.jsonl", processes=2)
    assert rows[0].path.endswith("broken")
    assert rows[0].action in ("stop", "rollback")
    assert rows[0].cause == "reward-pays-for-length"
    text = table.render(rows, width=100)
    assert max(map(len, text.partition("\n\n")[0].splitlines())) <= 100
    assert "torn: " in text
    assert f"{len(rows)} runs: " in text


def test_nothing_is_looked_at_twice_unless_it_has_grown(runs: Path, tmp_path: Path) -> None:
    store = tmp_path / "store.jsonl"
    first = survey([runs], store=store)
    lines = store.read_text().count("\n")
    assert survey([runs], store=store) == first
    assert store.read_text().count("\n") == lines
    with (runs / "team-0" / "seed-0" / "metrics.jsonl").open("a") as more:
        more.write('{"step": 40, "reward": 0.9, "kl": 0.01}\n')
    grown = survey([runs], store=store)
    assert store.read_text().count("\n") == lines + 1
    assert len(grown) == len(first)


def test_a_survey_that_is_killed_goes_on_where_it_stopped(tmp_path: Path) -> None:
    for i in range(30):
        healthy(tmp_path / "runs" / f"run-{i}")
    store = tmp_path / "store.jsonl"
    command = [*FIRSTBREAK, "diagnose", str(tmp_path / "runs")]
    options = ["--recursive", "--processes", "1", "--store", str(store), "--format", "json"]
    with subprocess.Popen([*command, *options], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as victim:
        assert until(lambda: len(load(store)) >= 3)
        os.kill(victim.pid, signal.SIGKILL)
    with store.open("a") as lines:
        lines.write('{"path": "cut in the mid')  # what a kill may leave
    kept = len(load(store))
    assert kept >= 3
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout)["runs"]
    assert len({row["path"] for row in rows}) == 30
    assert f"[{30}/30]" in done.stderr


def test_a_run_that_kills_its_process_costs_one_row(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reader from an entry point would do; here the run itself is a trap that only its own process falls into."""
    trap = tmp_path / "trap.py"
    trap.write_text(
        "import os, signal, firstbreak.compare.survey.runs as s\n"
        "honest = s.fingerprint\n"
        "def fingerprint(run, *more):\n"
        "    if run.name == 'broken' and os.environ['MAIN'] != str(os.getpid()): os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return honest(run, *more)\n"
        "s.fingerprint = fingerprint\n"
    )
    code = (
        "import sys, os, json; os.environ['MAIN'] = str(os.getpid()); import trap, multiprocessing\n"
        "multiprocessing.set_forkserver_preload(['trap'])\n"
        "from pathlib import Path; from firstbreak.compare.survey import survey\n"
        "print(json.dumps([[r.path, r.summary] for r in survey([sys.argv[1]], store=Path(sys.argv[2]), processes=2)]))"
    )
    environment = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code, str(runs), str(tmp_path / "store.jsonl")],
        capture_output=True,
        text=True,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    rows = dict(json.loads(done.stdout))
    assert rows[str(runs / "broken")] == "its process was killed"
    assert sum("killed" in summary for summary in rows.values()) == 1
    assert len(rows) >= 7


BLOCKED = """
import os, time, firstbreak.compare.survey.runs as s
from pathlib import Path
from tests.command import FIRSTBREAK
honest, place = s.fingerprint, Path(os.environ["PLACE"])
def fingerprint(run, *more):
    if os.environ["MAIN"] != str(os.getpid()):
        (place / f"begun-{os.getpid()}").touch()
        while not (place / "release").exists(): time.sleep(0.02)
    return honest(run, *more)
s.fingerprint = fingerprint
"""
SURVEY = (
    "import os, multiprocessing; os.environ['MAIN'] = str(os.getpid()); import blocked\n"
    "multiprocessing.set_forkserver_preload(['blocked'])\n"
    "from firstbreak.cli import main; main()"
)


@contextlib.contextmanager
def blocked_survey(folder: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`diagnose --recursive` whose two workers wait for the file `release`, and the mark of all of its processes."""
    for i in range(4):
        healthy(folder / "runs" / f"run-{i}")
    (folder / "blocked.py").write_text(BLOCKED)
    options = ["--recursive", "--processes", "2", "--store", str(folder / "store.jsonl"), "--format", "json"]
    command = [sys.executable, "-c", SURVEY, "diagnose", str(folder / "runs"), *options]
    mark = uuid.uuid4().hex
    path = os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, "PLACE": str(folder), supervisor.MARK: mark}
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as main:
        try:
            assert until(lambda: len(workers(folder)) == 2)
            yield main, mark
        finally:
            for process in supervisor.marked(mark):
                with contextlib.suppress(ProcessLookupError):  # ended with its parent
                    os.kill(process, signal.SIGKILL)


def workers(folder: Path) -> list[int]:
    return [int(path.name.partition("-")[2]) for path in folder.glob("begun-*")]


ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")


@ON_LINUX
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_survey_that_is_ended_leaves_nobody_behind(tmp_path: Path, ending: signal.Signals) -> None:
    with blocked_survey(tmp_path) as (main, mark):
        main.send_signal(ending)
        assert main.wait(PATIENCE) == (130 if ending == signal.SIGINT else -ending)
        assert until(lambda: not supervisor.marked(mark)), "an orphan is left"


@ON_LINUX
def test_ctrl_c_reaches_no_process_of_a_survey_but_the_first(tmp_path: Path) -> None:
    """A worker or a fork server that heard it while it starts would print where it was."""
    with blocked_survey(tmp_path) as (main, mark):
        for pid in set(supervisor.marked(mark)) - {main.pid}:
            state = dict(line.split(":\t", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines())
            assert (int(state["SigBlk"], 16) | int(state["SigIgn"], 16)) >> (signal.SIGINT - 1) & 1
        main.kill()


@ON_LINUX
@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("victim", ["worker", "fork server"])
def test_a_survey_whose_processes_are_ended_goes_on_without_them(
    tmp_path: Path, victim: str, ending: signal.Signals
) -> None:
    with blocked_survey(tmp_path) as (main, mark):
        first = workers(tmp_path)
        os.kill(first[0] if victim == "worker" else parent(first[0]), ending)
        assert until(lambda: all(process not in supervisor.marked(mark) for process in first)), "an orphan is left"
        (tmp_path / "release").touch()
        said, _ = main.communicate(timeout=PATIENCE)
        assert len(json.loads(said)["runs"]) == 4
        assert until(lambda: not supervisor.marked(mark))


def parent(process: int) -> int:
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def test_a_run_that_is_handed_to_a_pool_as_it_breaks_is_not_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("a", "b", "c"):
        healthy(tmp_path / "runs" / name)
    honest, calls = ProcessPoolExecutor.submit, iter(range(100))

    def submit(pool: ProcessPoolExecutor, *args: Any) -> Any:
        if next(calls) == 1:
            raise BrokenProcessPool
        return honest(pool, *args)

    monkeypatch.setattr(ProcessPoolExecutor, "submit", submit)
    rows = survey([tmp_path / "runs"], store=tmp_path / "store.jsonl")
    assert {Path(row.path).name for row in rows} == {"a", "b", "c"}


def test_a_path_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    healthy(tmp_path / "runs" / "a\x1b[2Jb")
    rows = survey([tmp_path / "runs"], store=tmp_path / "store.jsonl")
    assert "\x1b" not in table.render(rows)
    assert "\x1b" not in table.markdown(rows)


def test_thresholds_on_the_verdict_reach_the_exit_code(runs: Path, tmp_path: Path) -> None:
    command = [*FIRSTBREAK, "diagnose", str(runs), "--recursive"]
    options = ["--store", str(tmp_path / "store.jsonl"), "--processes", "1"]
    assert subprocess.run([*command, *options], capture_output=True).returncode == 1
    assert subprocess.run([*command, *options, "--fail-on", "never"], capture_output=True).returncode == 0


def test_a_link_that_leads_nowhere_hides_no_run(tmp_path: Path) -> None:
    run = healthy(tmp_path / "run")
    (run / "latest").symlink_to("latest")
    (run / "debug.log").symlink_to("moved/debug.log")
    rows = survey([run], store=tmp_path / "store.jsonl", processes=1)
    assert [row.action for row in rows] == ["continue"]
    assert table.render(rows).splitlines()[-1] == "1 run: 1 continue"


def test_names_that_fit_are_not_cut_for_a_long_cause() -> None:
    cause = SurveyRow(
        path="/runs/ppo-CartPole-v1", fingerprint="", action="rollback", summary="", place="advantage",
        reason="63 % the critic of an off-policy method is unstable", onset=1250.0, wasted=0.96,
    )  # fmt: skip
    text = table.render([cause, replace(cause, path="/runs/a2c-CartPole-v1")], 80)
    assert "ppo-CartPole-v1" in text
    assert "a2c-CartPole-v1" in text
    assert "advantage, step 1250: " in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_a_run_is_one_line_where_its_whole_reason_fits() -> None:
    undecided = SurveyRow(
        path="/runs/a", fingerprint="", action="rollback", summary="", place="environment or reward", onset=30.0,
        reason="65 % training uses only a small part of the prompts, or the verifier can be exploited",
    )  # fmt: skip
    short = SurveyRow(path="/runs/b", fingerprint="", action="continue", summary="2 scores are too few", known=False)
    fine = SurveyRow(path="/runs/c", fingerprint="", action="continue", summary="the score rises")
    rows = sorted([fine, short, undecided], key=lambda row: row.urgency)
    _, first, *more = table.render(rows, 80).splitlines()
    second = next(i for i, line in enumerate(more) if line.startswith("cannot tell"))
    whole = " ".join(" ".join([first, *more[:second]]).split())
    assert whole.endswith(f"environment or reward, step 30: {undecided.reason}")
    assert len(first) <= 80
    _, *lines, _, counts = table.render(rows).splitlines()
    assert [line.split("  ")[0] for line in lines] == ["rollback", "cannot tell", "continue"]
    assert lines[0].endswith(undecided.reason)
    assert counts == "3 runs: 1 rollback, 1 cannot tell, 1 continue"


def test_a_wide_table_says_which_score_it_is_and_where_it_was_best() -> None:
    row = SurveyRow(
        path="/runs/a", fingerprint="", action="watch", summary="falls",
        now=0.4, best=0.7, best_step=250_000, score="eval.accuracy",
    )  # fmt: skip
    shown = {width: table.render([row], width) for width in (80, 120, 160)}
    assert all("at 250K" in text for text in shown.values())  # a short name leaves room for it
    assert ["eval.accuracy" in text for text in shown.values()] == [False, False, True]
    assert not any("COLUMNS=140" in text for text in shown.values())


def test_a_narrow_table_keeps_names_links_and_steps_whole() -> None:
    name = "zoo-a2c-lunarlandercontinuous-v2"
    row = SurveyRow(
        path=name, fingerprint="", action="stop", summary="", place="policy update or advantage", onset=4800.0, now=-167.4,
        reason="12 % the updates are too large for this learning rate and this batch",
    )  # fmt: skip
    text = table.render([row, replace(row, path="rllib-pong")], 80)
    assert name in text
    assert "rllib-pong" in text  # the first letter too, where the folder is "."
    assert text.count("step 4800:") == 2
    assert f"policy update or advantage, step 4800: {row.reason}" in " ".join(text.split())
    assert "-167.4" not in text
    assert "(COLUMNS=140) shows the score now and at its best" in text
    assert max(map(len, text.splitlines())) <= 80


def test_a_sound_run_is_one_line_beside_a_long_name() -> None:
    fine = SurveyRow(
        path="zoo-sac-halfcheetahbullet-v0-sweep", fingerprint="", action="continue", summary="",
        reason="the evaluation still rises, and the training return rose and has plateaued",
    )  # fmt: skip
    _, *lines, _, _, _ = table.render([replace(fine, path=f"{fine.path}-9"), fine], 80).splitlines()
    assert [line.split() for line in lines] == [
        ["continue", name, "the", "evaluation", "still", "rises"] for name in (f"{fine.path}-9", fine.path)
    ]


def test_numbers_of_a_markdown_table_are_plain() -> None:
    row = SurveyRow(path="a_b*", fingerprint="", action="stop", summary="x", now=-167.4, best=850.2, best_step=2e5)
    text = table.markdown([row])
    assert "| -167.4 | 850.2 at 200K |" in text
    assert r"a_b\*" in text
