"""TensorBoard's download of one metric as JSON."""

import pytest

from firstbreak.readers import Unreadable, json_list, tensorboard_json
from firstbreak.readers.read import read as read_run
from tests.readers.files import file_of, points, read

EXPORT = '[[1700000000.5, 100, 0.5], [1700000001.5, 200, NaN], [1700000002.5, 300, "Infinity"]]'


def test_steps_values_and_times_are_kept_under_the_tag_of_the_file():
    recording = read(tensorboard_json, EXPORT, "run-ppo_1-tag-rollout_ep_rew_mean.json")
    assert recording.indexed_by == "step"
    assert points(recording, "rollout_ep_rew_mean") == [(100, 0.5), (200, "nan"), (300, float("inf"))]
    assert recording.curves["rollout_ep_rew_mean"].times.tolist() == [1700000000.5, 1700000001.5, 1700000002.5]


def test_a_download_that_was_cut_gives_its_whole_points():
    recording = read(tensorboard_json, EXPORT[:60], "run-a-tag-loss.json")
    assert points(recording, "loss") == [(100, 0.5), (200, "nan")]
    assert "cut after point 2" in recording.damage[0]


@pytest.mark.parametrize("text", ["[[1, 2, 3], [4, 5, 6]]", '[{"step": 1, "reward": 0.5}]', "[]"])
def test_other_lists_are_not_claimed(text):
    with file_of(text, "points.json") as path:
        assert not tensorboard_json.sniff(path, path.read_bytes())
        assert not (json_list.sniff(path, path.read_bytes()) and text.startswith("[["))


def test_one_file_for_each_metric_is_one_run():
    with file_of(EXPORT, "run/run-a-tag-Epoch_reward.json") as path:
        (path.parent / "run-a-tag-Loss_policy.json").write_text(EXPORT.replace("0.5]", "0.25]"))
        run = read_run(path.parent)
    assert run.series["reward.mean"].steps.tolist() == [100, 200, 300]
    assert run.series["policy.loss"].values[0] == 0.25


def test_a_file_without_a_whole_point_says_so():
    with (
        file_of("[[1700000000.5, 100, ", "run-a-tag-loss.json") as path,
        pytest.raises(Unreadable, match="whole point"),
    ):
        tensorboard_json.read(path)
