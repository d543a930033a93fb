"""What the user says of a name counts before what is guessed, and a wrong signal is one line."""

import json
from pathlib import Path

import pytest

from firstbreak.cli import main
from firstbreak.engine.diagnose import diagnose
from firstbreak.readers import Unreadable
from firstbreak.readers.names import parsed
from firstbreak.readers.read import read
from firstbreak.reports import inspection, terminal


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A log of a loop that nobody knows, in a folder of its own."""
    lines = ({"step": i, "reward_mean": i / 60, "kl_vs_sft": i / 600, "my_metric": 2.0, "odd": 1.0} for i in range(60))
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "log.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


def exits(*arguments: str | Path) -> int:
    with pytest.raises(SystemExit) as stopped:
        main([str(a) for a in arguments])
    return int(stopped.value.code or 0)


def test_a_guess_is_shown_with_the_way_to_correct_it(run: Path) -> None:
    found = read(run)
    assert found.series["kl.ref"].guessed
    for shown in (inspection.renderable(found).string(200), terminal.render(diagnose(found), width=200, color=False)):
        said = " ".join(shown.split())
        assert "kl_vs_sft as kl.ref" in said
        assert "[names] of firstbreak.toml" in said


def test_a_name_is_explained_in_the_folder_of_the_run(run: Path) -> None:
    (run / "firstbreak.toml").write_text('[names]\nmy_metric = "policy.entropy"\n"kl_vs_sft" = "custom.drift"\n')
    found = read(run)
    assert found.series["policy.entropy"].raw == "my_metric"
    assert found.series["custom.drift"].raw == "kl_vs_sft"
    assert not any(series.guessed for series in found.series.values())


def test_the_command_line_counts_before_the_files_folder_of_the_run_before_the_current_one(
    run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(run.parent)
    Path("firstbreak.toml").write_text('[names]\nmy_metric = "alpha"\nodd = "epsilon"\n')
    (run / "firstbreak.toml").write_text('[names]\nmy_metric = "lr"\n')
    assert {"lr", "epsilon"} <= read(run).series.keys()
    assert {"policy.entropy", "epsilon"} <= read(run, named=parsed(["my_metric=policy.entropy.mean"])).series.keys()


def test_what_the_user_says_wins_over_a_longer_curve_of_the_same_signal(run: Path) -> None:
    found = read(run, named={"my_metric": "reward.mean"})
    assert found.series["reward.mean"].raw == "my_metric"
    assert [copy.raw for copy in found.duplicates] == ["reward_mean"]


def test_an_unknown_signal_is_one_line_with_near_ones(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert exits("diagnose", run, "--name", "my_metric=policy.entrpy") == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "no signal is called 'policy.entrpy'; did you mean policy.entropy" in said
    (run / "firstbreak.toml").write_text('[names]\nmy_metric = "kl.reff"\n')
    assert exits("inspect", run) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "firstbreak.toml" in said
    assert "my_metric" in said
    assert "kl.ref" in said


@pytest.mark.parametrize("text", ["names = 3", "[names]\na.b = 'lr'", "[names]\nx = 1", "[names"])
def test_a_file_that_says_nothing_usable_is_one_line(run: Path, text: str) -> None:
    (run / "firstbreak.toml").write_text(text)
    with pytest.raises(Unreadable, match=r"firstbreak\.toml.*; "):
        read(run)


@pytest.mark.parametrize("setting", ["my_metric", "=lr", "my_metric="])
def test_an_option_that_is_no_pair_is_one_line(setting: str) -> None:
    with pytest.raises(Unreadable, match="write NAME=SIGNAL"):
        parsed([setting])


def test_a_name_that_the_run_lacks_is_noted_with_the_nearest(run: Path) -> None:
    assert "--name my_metrik: not logged; did you mean my_metric?" in read(run, named={"my_metrik": "lr"}).notes
