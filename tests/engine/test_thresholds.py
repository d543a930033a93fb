"""Thresholds that the user sets: on the command line and in firstbreak.toml, and what the reports say of them."""

import json
import shutil
from pathlib import Path

import pytest

from firstbreak.cli import main
from firstbreak.compare.survey import survey
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.thresholds import BadThreshold, changed, for_run, parsed
from firstbreak.model import Status
from firstbreak.readers.read import read
from firstbreak.reports import html, markdown, terminal

RUN = Path(__file__).parents[1] / "data" / "sb3_ppo_learning_rate"
FOUND = "step-too-large"  #: in this run, unless it needs more points than there are
SETTING = f"{FOUND}.min_points=1000000"
DETECTOR = "clip-fraction-high"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of a run in a folder of its own, with nothing said in the current folder."""
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return Path(shutil.copytree(RUN, tmp_path / "run"))


def called(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    code = ended.value.code
    return code if isinstance(code, int) else 0


def found(payload: str) -> bool:
    return FOUND in {finding["detector"] for finding in json.loads(payload)["findings"]}


def test_a_threshold_on_the_command_line_changes_what_is_found_and_the_report_says_so(
    run: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    called("diagnose", "--format", "json", str(run))
    before = capfd.readouterr().out
    assert found(before)
    assert json.loads(before)["thresholds"] == []
    called("diagnose", "--format", "json", "--set", SETTING, str(run))
    after = capfd.readouterr().out
    assert not found(after)
    (said,) = json.loads(after)["thresholds"]
    assert (said["detector"], said["name"], said["value"]) == (FOUND, "min_points", 1000000)
    assert said["default"] < 100


def test_every_report_names_the_thresholds_that_are_set() -> None:
    dx = diagnose(read(RUN), thresholds=parsed([SETTING]))
    (one,) = dx.thresholds
    line = f"{FOUND}.min_points = 1e+06 (default {one.default:g})"
    assert line in " ".join(terminal.render(dx, color=False).split())
    assert line in markdown.render(dx).replace("\\", "")
    assert line in " ".join(html.render(dx).replace("<wbr>", "").split())
    assert "Set by you" not in terminal.render(diagnose(read(RUN)), color=False)


def test_the_runs_folder_counts_before_the_current_one_and_the_command_line_before_both(run: Path) -> None:
    Path("firstbreak.toml").write_text(f"[thresholds.{DETECTOR}]\nhigh = 0.4\nmin_points = 7\n")
    assert for_run(run) == {DETECTOR: {"high": 0.4, "min_points": 7}}
    (run / "firstbreak.toml").write_text(f"[thresholds.{DETECTOR}]\nhigh = 0.5\n")
    assert for_run(run) == {DETECTOR: {"high": 0.5, "min_points": 7}}
    assert for_run(run / "progress.csv")[DETECTOR]["high"] == 0.5
    assert for_run(run, parsed([f"{DETECTOR}.high=1"]))[DETECTOR] == {"high": 1.0, "min_points": 7}


@pytest.mark.slow
def test_a_file_beside_the_run_counts_for_diagnose_and_for_watch(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    run = shutil.copytree(RUN.with_name("sb3_ppo_healthy"), tmp_path / "run")

    def said() -> tuple[str, str]:
        called("watch", str(run), "--every", "0.1", "--for", "0.2")
        watched = capfd.readouterr().out
        called("diagnose", "--format", "json", str(run))
        return watched, json.loads(capfd.readouterr().out)["verdict"]["summary"]

    sound = said()
    (run / "firstbreak.toml").write_text(f"[thresholds.{DETECTOR}]\nhigh = 0.0\n")
    watched, summary = said()
    assert summary != sound[1]
    assert watched != sound[0]
    assert summary in watched


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("clip-fraction-hihg.high=1", "did you mean clip-fraction-high"),
        (f"{DETECTOR}.hihg=1", "did you mean high?"),
        (f"{DETECTOR}.high=much", "is a number, not 'much'"),
        (f"{DETECTOR}.min_points=2.5", "is a whole number, not 2.5"),
        (f"{DETECTOR}.high", "write DETECTOR.THRESHOLD=VALUE"),
    ],
)
@pytest.mark.parametrize("command", ["diagnose", "watch"])
def test_a_wrong_setting_is_one_clear_line(
    run: Path, command: str, setting: str, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert called(command, str(run), "--set", setting) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert setting in line
    assert says in line


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("[thresholds.clip-fraction-hihg]\nhigh = 1", "did you mean clip-fraction-high"),
        (f"[thresholds.{DETECTOR}]\nhigh = true", "is a number, not True"),
        (f"[thresholds]\n{DETECTOR} = 1", f"{DETECTOR} is no table"),
        ("thresholds = 1", "thresholds is no table"),
        ("[thresholds", "not readable as TOML"),
    ],
)
def test_a_wrong_file_is_one_clear_line_that_names_the_file(
    run: Path, content: str, says: str, capfd: pytest.CaptureFixture[str]
) -> None:
    (run / "firstbreak.toml").write_text(content)
    assert called("diagnose", str(run)) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert str(run / "firstbreak.toml") in line
    assert says in line


@pytest.mark.slow
def test_a_survey_diagnoses_a_run_again_once_its_thresholds_are_others(run: Path, tmp_path: Path) -> None:
    store, looked = tmp_path / "rows.jsonl", []

    def rows(*settings: str) -> int:
        before = len(store.read_text().splitlines()) if store.exists() else 0
        survey([run.parent / "run"], store=store, thresholds=parsed(settings), report=lambda *done: looked.append(done))
        return len(store.read_text().splitlines()) - before

    assert rows() > 0
    assert rows() == 0
    assert rows(SETTING) > 0
    assert rows(SETTING) == 0


def test_the_library_refuses_what_no_detector_has() -> None:
    with pytest.raises(BadThreshold, match="did you mean high"):
        check(read(RUN), thresholds={DETECTOR: {"hihg": 1.0}})
    outcomes = {o.detector: o for o in check(read(RUN), only=[DETECTOR], thresholds={DETECTOR: {"high": 1}})}
    assert outcomes[DETECTOR].status is Status.OK
    assert [(t.value, type(t.value)) for t in changed({DETECTOR: {"high": 1}})] == [(1.0, float)]


def test_explain_shows_every_threshold_and_how_to_set_one(capfd: pytest.CaptureFixture[str]) -> None:
    called("explain", DETECTOR)
    page = capfd.readouterr().out
    assert "min_points = 10" in page
    assert f"--set {DETECTOR}.high=" in page
