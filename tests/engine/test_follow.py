"""Following a run that grows says the same as reading it whole, whatever the moments of looking."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from firstbreak.model import Run
from firstbreak.readers import Unreadable, readers
from firstbreak.readers.follow import Follower
from firstbreak.readers.read import read
from tests.engine.test_read import grpo


def same(a: Run, b: Run) -> bool:
    return a.series.keys() == b.series.keys() and all(
        np.array_equal(s.steps, b.series[n].steps) and np.array_equal(s.values, b.series[n].values, equal_nan=True)
        for n, s in a.series.items()
    )


def written(name: str) -> bytes:
    rows = grpo(1, 40)
    if not name.endswith(".csv"):
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


@pytest.mark.parametrize("name", ["metrics.jsonl", "progress.csv", "console.log"])
@given(cuts=st.lists(st.floats(0, 1), max_size=6))
@example(cuts=[0.002])  # a line that says nothing yet
@settings(max_examples=25)
def test_looking_at_any_moments_ends_with_the_whole(
    tmp_path_factory: pytest.TempPathFactory, name: str, cuts: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("run")
    data, path = written(name), folder / name
    follower = Follower(folder)
    for share in [*sorted(cuts), 1.0]:
        path.write_bytes(data[: int(share * len(data))])
        follower.update()
    assert same(follower.run(), read(folder))
    assert len(follower.run().series["reward.mean"]) == 39


@pytest.mark.slow
def test_tensorboard_grows_too(tmp_path: Path) -> None:
    writer = pytest.importorskip("torch.utils.tensorboard").SummaryWriter(str(tmp_path))
    follower = Follower(tmp_path)
    for step in range(60):
        writer.add_scalar("rollout/ep_rew_mean", step / 10, step)
        writer.add_scalar("train/clip_fraction", 0.1, step)
        if step % 20 == 19:
            writer.flush()
            assert follower.update()
            assert len(follower.run().series["reward.mean"]) == step + 1
    assert not follower.update()
    assert same(follower.run(), read(tmp_path))


def test_a_file_that_appears_later_joins_in(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    assert not follower.update()
    with pytest.raises(Unreadable):
        follower.run()
    (tmp_path / "metrics.jsonl").write_bytes(written("metrics.jsonl"))
    assert follower.update()
    assert "reward.mean" in follower.run().series


def test_a_file_that_is_rewritten_replaces_what_was_read(tmp_path: Path) -> None:
    path = tmp_path / "progress.csv"
    path.write_bytes(written("progress.csv"))
    follower = Follower(tmp_path)
    follower.update()
    path.write_text("step,reward,kl,frac_reward_zero_std,entropy\n1,7.0,0.1,0.2,0.3\n2,8.0,0.1,0.2,0.3\n")
    assert follower.update()
    assert list(follower.run().series["reward.mean"].values) == [7.0, 8.0]


def test_a_run_that_is_started_anew_in_its_folder_leaves_nothing_of_the_old_one(tmp_path: Path) -> None:
    (tmp_path / "progress.csv").write_bytes(written("progress.csv"))
    follower = Follower(tmp_path)
    follower.update()
    (tmp_path / "progress.csv").unlink()
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "reward": 7.0}\n{"step": 2, "reward": 8.0}\n')
    assert follower.update()
    assert list(follower.run().series["reward.mean"].values) == [7.0, 8.0]
    assert follower.run().files == ("metrics.jsonl",)


def test_a_reader_that_fails_costs_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, resume: object = None) -> None:
        raise KeyError("oops")

    for name in ("progress.csv", "metrics.jsonl"):
        (tmp_path / name).write_bytes(written(name))
    monkeypatch.setattr(readers()["csv"], "read", fail)
    follower = Follower(tmp_path)
    assert follower.update()
    assert "reward.mean" in follower.run().series
    assert "the csv reader failed: KeyError" in " ".join(follower.run().damage)


@pytest.mark.slow  # torch writes the file
def test_a_restart_that_declares_its_step_voids_what_lies_after_it(tmp_path: Path) -> None:
    summary = pytest.importorskip("torch.utils.tensorboard").SummaryWriter
    first = summary(str(tmp_path))
    for step in range(10):
        first.add_scalar("rollout/ep_rew_mean", 1.0, step)
        first.add_scalar("train/clip_fraction", 0.1, step)
    first.close()
    again = summary(str(tmp_path), purge_step=5, filename_suffix=".again")
    again.add_scalar("rollout/ep_rew_mean", 2.0, 7)
    again.close()
    series = read(tmp_path).series
    assert list(series["reward.mean"].steps) == [0, 1, 2, 3, 4, 7]
    assert list(series["policy.clip_fraction"].steps) == [0, 1, 2, 3, 4]


def test_a_file_that_is_read_whole_is_no_news_unless_it_changed(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"learning_rate": 0.001, "max_steps": 100}')
    (tmp_path / "metrics.jsonl").write_text('{"step": 1, "reward": 0.5}\n')
    follower = Follower(tmp_path)
    assert follower.update()
    assert not follower.update()
    (tmp_path / "config.json").write_text('{"learning_rate": 0.002, "max_steps": 100}')
    assert follower.update()
    assert follower.run().config.number("learning_rate") == 0.002
