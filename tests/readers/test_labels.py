"""Columns of text: a task or a tier leaves the score whole, and only train, eval, val and test part it."""

import json
from pathlib import Path

import pytest

from firstbreak.readers.read import read


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    if path.suffix == ".json":
        path.write_text(json.dumps(rows))
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        path.write_text("\n".join(lines) + "\n")
    return path


FILES = ["training_log.json", "metrics.jsonl", "metrics.csv"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("axis", ["episode", "global_step", None])
def test_a_scenario_does_not_split_the_score(name: str, axis: str | None, tmp_path: Path) -> None:
    rows = [
        {**({axis: i} if axis else {}), "scenario": ("easy", "hard", "mixed")[i % 3], "reward": i / 3000, "loss": 0.1}
        for i in range(3000)
    ]
    run = read(write(tmp_path / name, rows))
    assert run.series["reward.mean"].values.tolist() == [i / 3000 for i in range(3000)]


@pytest.mark.parametrize("name", FILES)
def test_a_tier_that_rises_during_the_run_does_not_split_the_score(name: str, tmp_path: Path) -> None:
    rows = [{"step": i, "tier": ("bronze", "silver", "gold")[i // 100], "reward": i / 300} for i in range(300)]
    assert len(read(write(tmp_path / name, rows)).series["reward.mean"]) == 300


def test_the_parts_stand_beside_the_whole(tmp_path: Path) -> None:
    rows = [{"step": i, "task": ("maths", "code")[i % 2], "reward": i % 2} for i in range(100)]
    run = read(write(tmp_path / "log.json", rows))
    assert set(run.series["reward.mean@task=code"].values) == {1.0}


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("column", ["split", "phase", "mode"])
@pytest.mark.parametrize("held_out", ["eval", "val", "test"])
def test_a_column_that_says_train_or_eval_parts_the_rows(name: str, column: str, held_out: str, tmp_path: Path) -> None:
    rows = [{"step": i // 2, column: ("train", held_out)[i % 2], "reward": float(i % 2)} for i in range(60)]
    run = read(write(tmp_path / name, rows))
    assert set(run.series["reward.mean"].values) == {0.0}
    assert set(run.series["eval.reward"].values) == {1.0}
    assert run.series["eval.reward"].steps.tolist() == list(range(30))


def test_agents_of_one_file_are_never_one_curve(tmp_path: Path) -> None:
    rows = [{"step": i // 2, "agent": ("DQN", "C51")[i % 2], "reward": i % 2} for i in range(100)]
    assert "reward.mean" not in read(write(tmp_path / "log.json", rows)).series
