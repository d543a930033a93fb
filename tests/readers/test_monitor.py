"""Episodes of the Monitor wrapper."""

import math
from pathlib import Path

import pytest

import firstbreak
from firstbreak.readers import Unreadable, monitor
from tests.readers.files import file_of, points, read, values

HEAD = '#{"t_start": 100.0, "env_id": "CartPole-v1"}\nr,l,t\n'


def test_episodes_are_indexed_by_the_steps_so_far():
    recording = read(monitor, HEAD + "10.0,10,0.5\n20.0,20,1.5\n", "0.monitor.csv")
    assert recording.indexed_by == "step"
    assert points(recording, "r") == [(10, 10), (30, 20)]
    assert recording.curves["r"].times.tolist() == [100.5, 101.5]
    assert recording.config == {"env_id": "CartPole-v1"}
    assert recording.order == 100


@pytest.mark.parametrize("mark", ["#{", "# {"])
def test_the_line_before_the_header_is_that_of_gym_or_of_baselines(mark: str):
    text = HEAD.replace("#{", mark) + "10.0,10,0.5\n"
    assert monitor.sniff(Path("0.0.monitor.csv"), text.encode())
    assert points(read(monitor, text, "0.0.monitor.csv"), "r") == [(10, 10)]


def test_columns_that_the_user_asked_for_are_kept():
    text = HEAD.replace("r,l,t", "r,l,t,is_success,note") + "1,2,0.5,True,x\n1,2,0.6,False,y\n"
    assert values(read(monitor, text, "monitor.csv"), "is_success") == [1, 0]


def test_nan_returns_are_kept():
    assert values(read(monitor, HEAD + "nan,10,0.5\n-inf,1,0.6\n", "monitor.csv"), "r") == ["nan", -math.inf]


def test_a_start_beyond_float_does_no_harm():
    recording = read(monitor, HEAD.replace("100.0", "1" + "0" * 400) + "1,10,0.5\n", "monitor.csv")
    assert points(recording, "r") == [(10, 1)]


def test_a_restart_in_one_file_begins_a_segment():
    appended = read(monitor, HEAD + "1,10,5.0\n2,10,0.5\n", "monitor.csv")
    assert appended.segment.tolist() == [0, 1]
    twice = read(monitor, HEAD + "1,10,5.0\n" + HEAD + "2,10,9.0\n", "monitor.csv")
    assert twice.segment.tolist() == [0, 1]


def test_broken_rows_cost_only_themselves():
    recording = read(monitor, HEAD + "1,10,0.5\n2,1\nx,y,z\n3,10,0.7\n4,10,", "monitor.csv")
    assert values(recording, "r") == [1, 3]
    assert recording.damage == ["line 4: 2 broken rows left out; check whether two runs share the file"]
    assert "left for the next read" in recording.notes[0]


def test_environments_are_merged_in_order_of_time():
    first = read(monitor, HEAD + "1,10,1.0\n2,10,4.0\n", "0.monitor.csv")
    second = read(monitor, HEAD.replace("100.0", "101.0") + "3,5,1.0\n4,5,2.5\n", "1.monitor.csv")
    merged = monitor.merge([first, second])
    assert points(merged, "r") == [(10, 1), (15, 3), (20, 4), (30, 2)]
    assert merged.curves["r"].times.tolist() == [101, 102, 103.5, 104]


def test_episodes_of_evaluations_are_none_of_training(tmp_path: Path):
    """They are on the steps that training had reached by the clock, or left out where the evaluations are logged besides."""
    (tmp_path / "train.monitor.csv").write_text(HEAD + "10.0,10,0.5\n20.0,20,1.5\n30.0,20,3.5\n")
    (tmp_path / "eval.monitor.csv").write_text(HEAD.replace("100.0", "101.0") + "90.0,90,1.0\n91.0,90,1.2\n")
    run = firstbreak.read(tmp_path)
    assert run.series["reward.episode"].values.tolist() == [10, 20, 30]
    assert run.series["eval.reward"].values.tolist() == [90, 91]
    assert run.series["eval.reward"].steps.tolist() == [30, 30]
    (tmp_path / "progress.csv").write_text(
        "time/total_timesteps,eval/mean_reward,rollout/ep_rew_mean\n30,5,4\n60,6,5\n"
    )
    run = firstbreak.read(tmp_path)
    assert run.series["eval.reward"].values.tolist() == [5, 6]
    assert any("eval.monitor.csv: left out" in note for note in run.notes)
    (tmp_path / "train.monitor.csv").unlink()
    assert firstbreak.read(tmp_path).series["eval.reward"].values.tolist() == [5, 6]
    (tmp_path / "progress.csv").unlink()
    alone = firstbreak.read(tmp_path)
    assert alone.series["eval.reward"].values.tolist() == [90, 91]
    assert "reward.episode" not in alone.series


def test_resume_goes_on_counting_steps():
    with file_of(HEAD + "1,10,0.5\n2,10,0.", "monitor.csv") as path:
        first = monitor.read(path)
        path.write_text(HEAD + "1,10,0.5\n2,10,0.75\n3,5,0.9\n")
        second = monitor.read(path, first.resume)
        path.write_text(HEAD.replace("100.0", "200.0") + "7,10,0.5\n")
        third = monitor.read(path, second.resume)
    assert points(first, "r") == [(10, 1)]
    assert points(second, "r") == [(20, 2), (25, 3)]
    assert not second.replaces
    assert third.replaces
    assert points(third, "r") == [(10, 7)]


def test_a_file_without_a_header_is_refused():
    with file_of('#{"t_start": 1}\n', "monitor.csv") as path, pytest.raises(Unreadable, match="no header yet"):
        monitor.read(path)
