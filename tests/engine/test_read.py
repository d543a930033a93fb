"""path -> Run: files, axes, restarts, damage."""

import gzip
import json
import pickle
import random
import re
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import firstbreak
from firstbreak.readers import Unreadable
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import merge_restarts, read
from tests.make import series
from tests.readers.test_opening import refuse


def jsonl(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def grpo(first: int, last: int) -> list[dict[str, object]]:
    return [
        {
            "step": i,
            "reward": i / 10,
            "reward_std": 0.1,
            "frac_reward_zero_std": 0.2,
            "completions/clipped_ratio": 0,
            "kl": 0.01,
        }
        for i in range(first, last)
    ]


def test_a_file_and_its_folder_are_the_same_run(tmp_path: Path) -> None:
    file = jsonl(tmp_path / "metrics.jsonl", grpo(1, 30))
    for place in (file, tmp_path):
        run = read(place)
        assert run.trainer == "trl"
        assert list(run.series["reward.mean"].steps) == list(range(1, 30))
        assert run.files == ("metrics.jsonl",)


def test_what_is_not_understood_is_listed(tmp_path: Path) -> None:
    rows = [{**row, "my_own/thing": 1.0} for row in grpo(1, 5)]
    run = read(jsonl(tmp_path / "metrics.jsonl", rows))
    assert "my_own/thing" in run.unknown


def test_a_restart_replaces_what_it_repeats() -> None:
    first = series("x", [1, 2, 3, 4, 5], steps=[10, 20, 30, 40, 50])
    again = series("x", [9, 9], steps=[30, 40])
    merged = merge_restarts([first, again])
    assert list(merged.steps) == [10, 20, 30, 40]
    assert list(merged.values) == [1, 2, 9, 9]


def test_a_step_that_goes_back_inside_one_file_is_a_restart_too() -> None:
    merged = merge_restarts([series("x", [1, 2, 3, 7, 8], steps=[1, 2, 3, 2, 3])])
    assert list(merged.values) == [1, 7, 8]


def test_equal_steps_are_separate_measurements() -> None:
    merged = merge_restarts([series("x", [1, 2, 3], steps=[5, 5, 6])])
    assert list(merged.values) == [1, 2, 3]


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(allow_nan=True, width=32)), min_size=1, max_size=60))
def test_steps_never_go_back_and_the_last_point_survives(points: list[tuple[int, float]]) -> None:
    steps, values = zip(*points, strict=True)
    merged = merge_restarts([series("x", values, steps=steps)])
    assert (np.diff(merged.steps) >= 0).all()
    assert 1 <= len(merged) <= len(points)


def test_several_runs_in_one_folder_are_found_apart(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        (tmp_path / f"seed{seed}").mkdir()
        jsonl(tmp_path / f"seed{seed}" / "metrics.jsonl", grpo(1, 10))
    assert [p.name for p in find_runs(tmp_path)] == ["seed1", "seed2", "seed3"]


def test_a_table_about_the_runs_does_not_make_them_one(tmp_path: Path) -> None:
    for seed in (1, 2):
        (tmp_path / f"seed{seed}").mkdir()
        jsonl(tmp_path / f"seed{seed}" / "metrics.jsonl", grpo(1, 10))
    (tmp_path / "index.csv").write_text("run,score\nseed1,0.5\nseed2,0.6\n")
    assert [p.name for p in find_runs(tmp_path)] == ["seed1", "seed2"]


def test_a_log_beside_subfolders_makes_them_one_run(tmp_path: Path) -> None:
    jsonl(tmp_path / "metrics.jsonl", grpo(1, 10))
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        jsonl(tmp_path / name / "more.jsonl", grpo(1, 10))
    assert find_runs(tmp_path) == [tmp_path]


def test_checkpoints_are_parts_of_one_run(tmp_path: Path) -> None:
    for step in (10, 20):
        folder = tmp_path / f"checkpoint-{step}"
        folder.mkdir()
        (folder / "trainer_state.json").write_text(json.dumps({"log_history": grpo(1, step), "global_step": step}))
    assert find_runs(tmp_path) == [tmp_path]
    run = read(tmp_path)
    assert run.series["reward.mean"].steps[-1] == 19
    assert len(run.series["reward.mean"]) == 19
    assert [c.step for c in run.checkpoints] == [10, 20]


def test_a_folder_called_runs_holds_those_of_a_project_or_one_of_tensorboard(tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / "runs" / name).mkdir(parents=True)
        jsonl(tmp_path / "runs" / name / "metrics.jsonl", grpo(1, 10))
    assert [p.name for p in find_runs(tmp_path)] == ["one", "two"]
    (tmp_path / "runs" / "two" / "metrics.jsonl").unlink()
    assert find_runs(tmp_path) == [tmp_path]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "metrics.jsonl: the file is empty; "),
        (gzip.compress(b'{"step": 1, "reward": 1}' * 99)[:40], "cannot be unpacked"),
        (b"hello", "not a training log that firstbreak knows"),
    ],
)
def test_why_a_file_is_not_read(content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_bytes(content)
    with pytest.raises(Unreadable, match=re.escape(said)):
        read(tmp_path / "metrics.jsonl")


def test_a_file_that_may_not_be_opened_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jsonl(tmp_path / "metrics.jsonl", grpo(1, 10))

    refuse(monkeypatch, "metrics.jsonl")
    with pytest.raises(Unreadable, match="cannot be opened: Permission denied"):
        read(tmp_path / "metrics.jsonl")


@pytest.mark.parametrize("address", ["s3://bucket/run", Path("gs://bucket/run"), "https://example.org/log.csv"])
def test_an_address_is_told_from_a_path(address: str | Path) -> None:
    with pytest.raises(Unreadable, match="an address, not a place on this machine; copy the run here"):
        find_runs(address)


def test_an_empty_path_is_not_the_current_folder() -> None:
    with pytest.raises(Unreadable, match="the path is empty"):
        find_runs("")


def test_nan_and_infinity_survive(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    rows = (
        '{"step": 1, "reward": NaN, "kl": 0.1}',
        '{"step": 2, "reward": Infinity, "kl": 0.1}',
        '{"step": 3, "reward": 1}',
    )
    path.write_text("\n".join(rows))
    values = read(path).series["reward.mean"].values
    assert np.isnan(values[0])
    assert np.isinf(values[1])


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p: None, "no such file"),
        (lambda p: p.mkdir(), "no file in it is a training log"),
        (lambda p: p.write_bytes(random.Random(0).randbytes(5000)), "not a training log"),
        (lambda p: p.write_bytes(b""), "empty"),
        (lambda p: p.symlink_to(p), "symbolic links"),
    ],
    ids=["missing", "empty folder", "binary", "empty file", "link loop"],
)
def test_bad_input_is_one_line_with_the_remedy(tmp_path: Path, make: object, says: str) -> None:
    place = tmp_path / "thing.csv"
    make(place)  # type: ignore[operator]
    with pytest.raises(Unreadable) as caught:
        read(place)
    line = str(caught.value)
    assert "\n" not in line
    assert "thing.csv" in line
    assert says in line
    assert ";" in line


def test_damage_is_stated_and_the_rest_is_read(tmp_path: Path) -> None:
    jsonl(tmp_path / "metrics.jsonl", grpo(1, 30))
    (tmp_path / "evaluations.npz").write_bytes(b"PK\x03\x04 cut off")
    run = read(tmp_path)
    assert "reward.mean" in run.series
    assert any("evaluations.npz" in line for line in run.damage)


def test_a_loop_of_folders_ends(tmp_path: Path) -> None:
    jsonl(tmp_path / "metrics.jsonl", grpo(1, 10))
    (tmp_path / "again").symlink_to(tmp_path, target_is_directory=True)
    assert read(tmp_path).files == ("metrics.jsonl",)


def test_a_wandb_address_is_read_through_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    from firstbreak.readers import Recording
    from firstbreak.readers import read as engine

    curve = engine.Curve(index=np.arange(1.0, 20.0), values=np.arange(19.0))
    fake = Recording(format="wandb", indexed_by="step", curves={"train/reward": curve, "train/kl": curve})
    monkeypatch.setattr(engine.wandb_api, "read", lambda address: fake)
    assert [str(p) for p in find_runs("wandb:team/project/abc")] == ["wandb:team/project/abc"]
    assert len(read("wandb:team/project/abc").series["reward.mean"]) == 19


def test_a_number_sign_in_the_name_of_a_folder_is_part_of_it(tmp_path: Path) -> None:
    folder = tmp_path / "try #1"
    folder.mkdir()
    (folder / "progress.csv").write_text("step,loss\n1,0.5\n2,0.25\n")
    assert read(folder).series["loss.total"].values.tolist() == [0.5, 0.25]


@pytest.mark.slow  # real writers
def test_steps_of_the_environment_are_called_so_where_the_format_or_the_trainer_says_so(tmp_path: Path) -> None:
    summary = pytest.importorskip("torch.utils.tensorboard").SummaryWriter
    (tmp_path / "0.monitor.csv").write_text('#{"t_start": 0.0}\nr,l,t\n1.0,10,0.5\n2.0,20,1.5\n')
    np.savez(tmp_path / "evaluations.npz", timesteps=[10, 20], results=[[1.0, 2.0], [3.0, 4.0]])
    with summary(str(tmp_path)) as writer:
        for step in (10, 20):
            writer.add_scalar("train/clip_fraction", 0.1, step)
            writer.add_scalar("rollout/ep_rew_mean", 0.1, step)
    run = read(tmp_path)
    assert run.trainer == "sb3"
    assert {series.axis for series in run.series.values()} == {"env_steps"}
    alone = read(tmp_path / "evaluations.npz")
    assert alone.series["eval.reward"].axis == "env_steps"


def test_a_count_in_a_closing_summary_is_no_step_axis(tmp_path: Path) -> None:
    lines = [f"[run] {i}/100 | loss=-0.5 | reward={i / 100:.3f}" for i in range(1, 101)]
    (tmp_path / "train.log").write_text("\n".join([*lines, "done | steps=100 | lr=1e-05"]) + "\n")
    assert len(read(tmp_path / "train.log").series["reward.mean"]) == 100


ROWS = [{"step": i, "reward": 0.1 + i / 100, "kl": 0.01, "loss": 0.1 if i < 50 else np.nan} for i in range(80)]


def frames() -> list[object]:
    """The rows as DataFrames."""
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    return [pandas.DataFrame(ROWS), pandas.DataFrame(ROWS).set_index("step"), polars.DataFrame(ROWS)]


def test_numbers_in_memory_are_read_as_those_of_a_file(tmp_path: Path) -> None:
    columns = {name: [row[name] for row in ROWS] for name in ROWS[0]}
    wanted = read(jsonl(tmp_path / "m.jsonl", ROWS)).series
    for given_ in (ROWS, columns, {name: np.array(values) for name, values in columns.items()}, *frames()):
        found = read(given_).series
        for name in ("reward.mean", "kl.ref", "loss.total"):
            np.testing.assert_array_equal(found[name].steps, wanted[name].steps)
            np.testing.assert_array_equal(found[name].values, wanted[name].values)
        assert firstbreak.diagnose(given_).first_break.step == 50
    assert [o.detector for o in firstbreak.check(ROWS)]
    assert pickle.loads(pickle.dumps(firstbreak.diagnose)) is firstbreak.diagnose  # for a pool of processes


def test_an_empty_cell_of_a_frame_is_no_lost_number() -> None:
    """`DataFrame(trainer.state.log_history)`: rows of training, of evaluation, and the summary at the end."""
    pandas = pytest.importorskip("pandas")
    rows = [row for i in range(49) for row in (ROWS[i], {"step": i, "eval_reward": 0.3})][:49]
    found = read(pandas.DataFrame([*rows, *ROWS[30:50], {"step": 49, "train_runtime": 3.0}])).series
    assert all(np.isfinite(series.values).all() for series in found.values())
    assert len(found["eval.reward"]) == 24
    whole = read(pandas.DataFrame([*ROWS[:50], {"step": 49, "train_runtime": 3.0}])).series
    assert np.isfinite(whole["loss.total"].values).all()


@pytest.mark.parametrize("given_", [5, [], [1, 2], {"reward": [1, 2], "step": [1]}, {"reward": 1.0}])
def test_what_is_no_run_says_what_is_one(given_: object) -> None:
    for ask in (read, firstbreak.diagnose):
        with pytest.raises(Unreadable, match=r"give a path, a list of records .* or a DataFrame"):
            ask(given_)
