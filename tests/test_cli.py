"""The command line as a user types it."""

import io
import json
import os
import re
import signal
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path

import pytest

from firstbreak.cli import COMMANDS, SECTIONS, _output, main, watch
from firstbreak.cli._output import how_far
from firstbreak.readers.follow import Follower
from tests.command import FIRSTBREAK
from tests.make import learning
from tests.waiting import PATIENCE, until

DEMO = Path(__file__).parent.parent / "src" / "firstbreak" / "cli" / "demo" / "run"


def firstbreak(*arguments: object, code: int | None = None) -> subprocess.CompletedProcess[str]:
    """What the command says and how it ends, in this process: with this exit code, where one is given."""
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    said, complained = (stream.buffer.getvalue().decode() for stream in (out, err))
    assert code is None or int(end.value.code or 0) == code, complained
    return subprocess.CompletedProcess(arguments, int(end.value.code or 0), said, complained)


def healthy(folder: Path) -> Path:
    rows = (
        {"step": i, "reward": float(v), "frac_reward_zero_std": 0.2, "kl": 0.01} for i, v in enumerate(learning(100))
    )
    path = folder / "metrics.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_demo_names_the_injected_fault_and_its_step() -> None:
    command = [sys.executable, "-m", "firstbreak", "demo", "--format", "json"]
    done = subprocess.run(command, capture_output=True, encoding="utf-8")
    assert done.returncode == 0
    diagnosis = json.loads(done.stdout)
    assert diagnosis["first_break"]["link"] == "reward"
    low, high = diagnosis["first_break"]["interval"]
    assert low <= 60 <= high
    assert diagnosis["causes"][0]["id"] == "reward-pays-for-length"
    assert diagnosis["verdict"]["action"] == "rollback"


@pytest.mark.parametrize(
    ("name", "begins"),
    [("r.html", "<!DOCTYPE html>"), ("r.json", "{"), ("r.md", "# Roll back"), ("r.txt", " ↶ ROLL BACK")],
)
def test_the_suffix_of_the_output_chooses_the_format_unless_one_is_given(
    tmp_path: Path, name: str, begins: str
) -> None:
    out = tmp_path / name
    firstbreak("diagnose", DEMO, "-o", out, code=1)
    assert out.read_text().startswith(begins)
    firstbreak("diagnose", DEMO, "-o", out, "--format", "json", code=1)
    assert json.loads(out.read_text())["schema"]


def test_every_command_that_writes_a_report_takes_the_format_of_the_suffix(tmp_path: Path) -> None:
    for command in (
        ("audit", DEMO),
        ("compare", DEMO, DEMO),
        ("check", "memory", "mlp", "--algo", "sac", "--observation", "17", "--actions", "6"),
    ):
        firstbreak(*command, "-o", tmp_path / "r.html")
        assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>"), command


def test_the_process_ends_with_its_code_after_what_was_registered_for_the_end() -> None:
    code = """
import atexit, os
from firstbreak.cli import program
atexit.register(lambda: print("ended", os.environ.get("OPENBLAS_NUM_THREADS")))
program()
"""
    unset = {name: value for name, value in os.environ.items() if not name.endswith("_NUM_THREADS")}
    done = subprocess.run(
        [sys.executable, "-c", code, "diagnose", str(DEMO)], capture_output=True, encoding="utf-8", env=unset
    )
    assert done.returncode == 1
    assert "Do this first" in done.stdout
    assert done.stdout.endswith("ended None\n")


def test_a_broken_run_ends_with_1_and_a_healthy_one_with_0(tmp_path: Path) -> None:
    assert firstbreak("diagnose", DEMO).returncode == 1
    assert firstbreak("diagnose", str(healthy(tmp_path))).returncode == 0
    assert firstbreak("diagnose", DEMO, "--fail-on", "never").returncode == 0


@pytest.mark.parametrize("format_", ["terminal", "json", "html", "markdown"])
def test_every_format_can_be_written_to_a_file(tmp_path: Path, format_: str) -> None:
    out = tmp_path / "report"
    done = firstbreak("diagnose", DEMO, "--format", format_, "-o", str(out), "--fail-on", "never")
    assert done.stdout == ""
    assert "length" in out.read_text(encoding="utf-8")


def test_several_runs_are_a_list_in_json_and_progress_goes_to_stderr(tmp_path: Path) -> None:
    path = healthy(tmp_path)
    done = firstbreak("diagnose", path, path, "--format", "json")
    assert [d["schema"] for d in json.loads(done.stdout)] == ["firstbreak.diagnosis/1"] * 2
    assert "[2/2]" in done.stderr


def test_several_runs_are_a_table_that_can_be_searched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("COLUMNS", raising=False)
    quiet = str(healthy(tmp_path))
    done = firstbreak("diagnose", quiet, DEMO)
    head, first, *others = done.stdout.splitlines()
    assert head.split()[:2] == ["verdict", "run"]
    assert first.startswith(("rollback", "stop"))
    assert any("metrics.jsonl" in line for line in others)
    whole = firstbreak("diagnose", quiet, DEMO, "--full", code=1)
    assert len(whole.stdout.splitlines()) > 100
    comment = firstbreak("diagnose", quiet, DEMO, "--format", "markdown").stdout
    assert comment.startswith("Below the table: the whole reports of the runs that need attention.\n\n2 runs: ")
    assert comment.count("\n# ") == 1  # the report of the one that needs attention
    assert len(comment) < 65_536  # of a comment on GitHub


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("diagnose", "no/such/run"), "no such file or folder"),
        (("inspect", "no/such/run"), "no such file or folder"),
        (("explain", "zero-varianc-groups"), "did you mean zero-variance-groups"),
        (("diagnose", str(DEMO), "--trainer", "nobody"), "no trainer is called"),
        (("diagnose",), "Missing argument"),
        (("no-such-command",), "No such command"),
        (("diagnoze", str(DEMO)), "Did you mean 'diagnose'?"),
        (("diagnose", ""), "the path is empty"),
        (
            ("diagnose", str(DEMO), "-o", "no/such/folder/report"),
            "no/such/folder/report: No such file or directory; check",
        ),
        (("diagnose", str(DEMO), "--rate", "-1"), "-1.0 is not in the range"),
    ],
)
def test_a_wrong_call_is_one_clear_line_and_2(arguments: tuple[str, ...], says: str) -> None:
    done = firstbreak(*arguments, code=2)
    assert says in done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr


def test_one_run_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    path, note = healthy(tmp_path), tmp_path / "note.txt"
    note.write_text("this one is better\n")
    done = firstbreak("diagnose", note, path, "--format", "json", code=2)
    assert [d["run"]["path"] for d in json.loads(done.stdout)] == [str(path)]
    assert f"firstbreak: {note}: not a training log" in done.stderr


def test_one_line_of_a_log_is_too_few_and_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5, "kl": 0.01}\n')
    assert "1 score is too few to see a shape" in firstbreak("diagnose", tmp_path).stdout


def test_control_characters_of_a_path_are_made_visible(tmp_path: Path) -> None:
    done = firstbreak("diagnose", str(tmp_path / "a\x1b[2Jb"))
    assert "\x1b" not in done.stderr
    assert "x1b" in done.stderr


@pytest.mark.parametrize(
    "name", ["reward", "truncation", "reward-pays-for-length", "kl.ref", "group_size", "trl", "csv", "readers"]
)
def test_everything_can_be_explained(name: str) -> None:
    assert len(firstbreak("explain", name, code=0).stdout.splitlines()) >= 3


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("shorter-answers", "Penalise length"),
        ("approx_kl", "kl.old"),
        ("Truncation", "detector of the link rollout"),
        ("rewards/accuracy/mean", "reward.component.accuracy.mean llamafactory, prime_rl, trl"),
        ("zero-variance-groups", "Raise group_size: with success rate p"),
        ("retokenisation-drift", "The tokens of a turn are not the tokens that were sampled."),
        ("tool-failures", "Share of an episode's tool answers"),
        ("reward-hacking", "independent scores do not follow"),
        ("tools-fail", "tools-fail: audit of samples"),
        ("link", "policy_update"),
        ("policy update", "policy update: "),
        ("policy-update", "policy update: "),
        ("The updates are too large", "cause in the link policy update"),
        ("entropy", "Detectors that read it"),
        ("kl.ref", "kl-reward"),
        ("learning_rate", "1e-05 to 0.01"),
        ("learning_rate", "step-size-too-large"),
        ("score-lost", "Needs: one of eval.accuracy"),
    ],
)
def test_what_a_report_or_a_log_names_can_be_explained(name: str, said: str) -> None:
    assert said in " ".join(firstbreak("explain", name).stdout.split())


def test_an_explanation_names_no_file_of_ours_and_no_inner_names() -> None:
    said = firstbreak("explain", "score-lost").stdout
    assert "LOG.md" not in said
    assert "trajectory" not in said
    assert "reward_mean" not in said


def test_a_row_of_the_audit_of_a_runs_samples_can_be_explained() -> None:
    assert firstbreak("explain", DEMO, "refusals", code=0).stdout.startswith("refusals (nothing found)")
    assert "since step" in firstbreak("explain", DEMO, "length-inflation", code=0).stdout
    assert "no finding or cause of that name" in firstbreak("explain", DEMO, "refusal").stderr


def test_the_roles_of_columns_are_in_the_help() -> None:
    text = " ".join(firstbreak("audit", "--help").stdout.split())
    assert all(role in text for role in ("advantage, answer", "completion, prompt", "rewards=A,B"))


def test_explain_suggests_the_names_that_hold_the_word() -> None:
    assert "did you mean zero-variance-groups" in firstbreak("explain", "Variance-Groups").stderr


def test_explain_without_a_name_begins_with_how_to_ask() -> None:
    lines = firstbreak("explain").stdout.splitlines()
    assert lines[0].startswith("firstbreak explain NAME")
    assert len(lines) < 20
    kinds = [line.split()[0] for line in lines if line.startswith("  ")]
    assert {"links", "detectors", "causes", "metrics", "audit"} <= set(kinds)
    for kind, name in (("detectors", "zero-variance-groups"), ("audit", "judge-bias"), ("Trainers", "verl")):
        assert name in firstbreak("explain", kind).stdout.splitlines()


def test_inspect_says_what_each_metric_really_is() -> None:
    text = firstbreak("inspect", DEMO).stdout
    assert "frac_reward_zero_std" in text
    assert "reward.zero_std_frac" in text
    json.loads(firstbreak("inspect", DEMO, "--format", "json").stdout)


def test_an_ascii_locale_does_not_break_the_output() -> None:
    plain = {**os.environ, "LC_ALL": "C", "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*FIRSTBREAK, "demo"], capture_output=True, env=plain)
    assert done.returncode == 0
    assert "ROLL BACK" in done.stdout.decode("utf-8")


def test_watch_follows_a_run_that_grows(tmp_path: Path) -> None:
    path = healthy(tmp_path)
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:30]))
    command = [*FIRSTBREAK, "watch", str(tmp_path), "--every", "0.2", "--for", str(PATIENCE)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, encoding="utf-8")
    assert process.stdout is not None
    try:
        assert process.stdout.readline().startswith("step 29")
        fallen = ({"step": 30 + i, "reward": -5.0, "frac_reward_zero_std": 0.2} for i in range(70))
        with path.open("a") as file:
            file.writelines(json.dumps(row) + "\n" for row in fallen)
        said = process.stdout.readline()
        assert said.startswith("step 99")
        assert "step 30 of 99" in said
    finally:
        process.kill()
        process.wait()


def test_watch_ends_with_a_run_that_has_its_planned_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(tmp_path)
    monkeypatch.setattr(watch, "QUIET", 0.0)
    for planned in (1000, 99):
        (tmp_path / "config.json").write_text(json.dumps({"max_steps": planned}))
        asked = iter(range(20))  # a run that goes on is looked at until no more can come
        assert list(watch._diagnoses(Follower(tmp_path), "run", 0.0, lambda asked=asked: next(asked, None) is not None))
        assert (next(asked, None) is not None) == (planned == 99)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_long_wait_shows_its_seconds_and_a_short_one_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    with _output.waiting("reading run"):
        pass
    assert terminal.getvalue() == ""
    monkeypatch.setattr(_output, "PATIENCE", 0.0)
    with _output.waiting("reading [red]run"):
        assert until(lambda: "reading [red]run" in terminal.getvalue())


@pytest.mark.parametrize("inside", [False, True])
def test_the_output_takes_the_place_of_no_log(tmp_path: Path, inside: bool) -> None:
    path = healthy(tmp_path)
    before = path.read_bytes()
    (link := tmp_path / "link").symlink_to(path)
    done = firstbreak("diagnose", str(tmp_path if inside else path), "-o", link if inside else path, code=2)
    assert "is read here; give another file" in done.stderr
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "command",
    [
        "compare b a/metrics.jsonl --plot THIS",
        "eval contamination texts.txt texts.txt -o THIS",
        "check env env.py:Env -o THIS",
    ],
)
def test_no_command_writes_over_its_input(tmp_path: Path, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        healthy(tmp_path / name)
    (tmp_path / "texts.txt").write_text("How many apples are two and three apples in all?\n")
    (tmp_path / "older").write_text("the older one")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "env.py").write_text("import gymnasium\nEnv = lambda: gymnasium.make('CartPole-v1')\n")
    read = command.split()[-3].partition(":")[0]
    before = {name: Path(name).read_bytes() for name in (read, "older")}
    done = firstbreak(*command.replace("THIS", read).split(), code=2)
    assert f"{read}: is read here; give another file" in done.stderr
    monkeypatch.setattr(os, "replace", lambda part, path: os.close(-1))  # raises OSError
    firstbreak(*command.replace("THIS", "older").split(), code=2)
    assert {name: Path(name).read_bytes() for name in before} == before


def test_who_stops_reading_is_no_verdict(tmp_path: Path) -> None:
    ours, theirs = os.pipe()
    os.close(ours)
    assert started(["inspect", str(healthy(tmp_path))], stdout=theirs).returncode == 0
    os.close(theirs)


def test_ctrl_c_that_an_import_swallows_is_heard_after_it(tmp_path: Path) -> None:
    swallows = "try:\n    os.kill(os.getpid(), signal.SIGINT)\nexcept BaseException:\n    pass\n"
    code = f"import gymnasium, os, signal\n{swallows}Env = lambda: gymnasium.make('CartPole-v1')\n"
    (tmp_path / "env.py").write_text(code)
    heard = partial(signal.signal, signal.SIGINT, signal.default_int_handler)  # whoever starts the tests may ignore it
    done = started(["check", "env", f"{tmp_path / 'env.py'}:Env", "--fail-on", "never"], preexec_fn=heard, stdout=-3)
    assert (done.returncode, "Traceback" in done.stderr) == (130, False)


def test_a_variable_that_names_no_folder_is_one_line(tmp_path: Path) -> None:
    done = started(["inspect", str(healthy(tmp_path))], env={**os.environ, "FIRSTBREAK_ALLOW_ROOT": "/nothing"})
    assert (done.returncode, done.stderr.count("\n"), "FIRSTBREAK_ALLOW_ROOT" in done.stderr) == (2, 1, True)


def test_an_older_report_outlives_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = tmp_path / "report.html"
    report.write_text("the older one")

    def full(handle: int, path: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    done = firstbreak("diagnose", str(healthy(tmp_path)), "--format", "html", "-o", report, code=2)
    assert f"{report}: No space left on device; free some space" in done.stderr
    assert report.read_text() == "the older one"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["metrics.jsonl", "report.html"]


def started(arguments: list[str], **how: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", "firstbreak", *arguments], stderr=-1, encoding="utf-8", **how)  # type: ignore[call-overload, no-any-return]


def test_a_closed_stream_is_one_line(tmp_path: Path) -> None:
    path = str(healthy(tmp_path))
    done = started(["diagnose", path], preexec_fn=lambda: os.close(1))
    assert (done.returncode, done.stderr.count("\n")) == (0, 1)
    assert "stdout is closed" in done.stderr
    assert started(["diagnose", path], preexec_fn=lambda: os.close(0), stdout=subprocess.DEVNULL).returncode == 0


def test_a_deleted_folder_is_named(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    done = started(["diagnose", "."], preexec_fn=lambda: (os.chdir(gone), gone.rmdir()))
    assert done.returncode == 2
    assert "the current folder was deleted" in done.stderr


def test_help_has_every_command_in_a_group_and_examples_that_are_commands() -> None:
    shown = firstbreak("--help").stdout
    assert [title for title in SECTIONS if f"\n{title}:\n" not in shown] == []
    assert sorted(re.findall(r"^  ([a-z]+) +[A-Z]", shown, re.MULTILINE)) == sorted(COMMANDS)
    assert {line.split()[1] for line in shown.splitlines() if line.startswith("    firstbreak ")} <= set(COMMANDS)


def test_progress_of_many_runs_is_ten_lines_in_a_pipe_and_one_file_says_how_far(tmp_path: Path) -> None:
    for i in range(25):
        (tmp_path / f"run{i:02}").mkdir()
        (tmp_path / f"run{i:02}" / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n')
    (tmp_path / "index.csv").write_text("id,said\nrun1,good\nrun2,bad\n")
    said = firstbreak("diagnose", tmp_path).stderr.splitlines()
    told = [line for line in said if line.startswith("[")]
    assert 5 < len(told) <= 10
    assert told[-1].startswith("[25/25] ")
    assert how_far((43_000_000, 103_000_000)) == ": 42 % of 103 MB"
    assert how_far(None) == ""


def test_a_name_that_the_log_does_not_have_is_refused(tmp_path: Path) -> None:
    healthy(tmp_path)
    refused = firstbreak("diagnose", str(tmp_path), "--name", "rewrd=kl.ref")
    assert refused.returncode == 2
    assert "--name rewrd: not logged; did you mean reward?" in refused.stderr


@pytest.mark.parametrize("name", ["truncation", "learning_rate", "rollout", "reward.mean", ""])
def test_an_explanation_is_no_wider_than_the_terminal(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert max(map(len, firstbreak("explain", *filter(None, [name])).stdout.splitlines())) <= 80
