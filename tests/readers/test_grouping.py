"""Which logs below a path are one run."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from firstbreak.cli.inspect import command
from firstbreak.readers import grouping
from firstbreak.readers.grouping import How, group
from firstbreak.readers.read import read


def lines(seed: int, first: int = 0, last: int = 60, prefix: str = "") -> str:
    """What a script prints: a reward that depends on the seed."""
    rng = np.random.default_rng(seed)
    reward = np.cumsum(rng.normal(size=1000)) + 10 * seed
    return "".join(
        f"{prefix}step {i} reward: {reward[i]:.3f} loss: {abs(reward[i]) / 7:.4f}\n" for i in range(first, last)
    )


def table(folder: Path, seed: int, name: str = "metrics.jsonl") -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    rows = (
        {"step": i, "reward": 10 * seed + float(r), "loss": float(r) ** 2} for i, r in enumerate(rng.normal(size=60))
    )
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))


def names(place: Path, how: How = How.AUTO) -> list[str]:
    return [run.name for run in group(place, how).runs]


@pytest.mark.parametrize("long", [False, True], ids=["short", "longer than what is looked at"])
def test_two_console_logs_are_two_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, long: bool) -> None:
    if long:
        monkeypatch.setattr(grouping, "BEGINNING", 1000)
    for seed in (1, 2):
        (tmp_path / f"try{seed}.log").write_text(lines(seed))
    found = group(tmp_path)
    assert [run.name for run in found.runs] == ["try1.log", "try2.log"]
    assert "try1.log and try2.log hold the same metrics from the same step on, with other numbers" in found.why
    assert "--one-run" in found.why


def test_a_log_that_goes_on_where_the_other_ends_is_the_same_run(tmp_path: Path) -> None:
    (tmp_path / "part1.log").write_text(lines(1, 0, 40))
    (tmp_path / "part2.log").write_text(lines(1, 35, 80))
    found = group(tmp_path)
    assert found.runs == (tmp_path,)
    assert "part1.log and part2.log are one run: one goes on after the other" in found.why
    assert "--each" in found.why


def test_a_copy_is_no_further_run(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(lines(1))
    (tmp_path / "nohup.out").write_text("started\n" + lines(1, 0, 50))
    assert names(tmp_path) == [tmp_path.name]
    (tmp_path / "b.log").write_text(lines(2))
    assert names(tmp_path) == ["a.log", "b.log"]
    assert "nohup.out (a copy of a.log)" in group(tmp_path).why


@pytest.mark.parametrize(
    "pair",
    [("rank0.log", "rank1.log"), ("log_rank_0.log", "log_rank_1.log"), ("train.log", "eval.log"), ("x.out", "x.err")],
)
def test_files_named_as_parts_are_one_run(tmp_path: Path, pair: tuple[str, str]) -> None:
    for seed, name in enumerate(pair, 1):
        (tmp_path / name).write_text(lines(seed))
    assert names(tmp_path) == [tmp_path.name]


def test_logs_with_other_metrics_are_one_run(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(lines(1))
    (tmp_path / "b.log").write_text(
        "".join(f"step {i} entropy: {1 - i / 90:.4f} kl: {i / 999:.5f}\n" for i in range(60))
    )
    assert names(tmp_path) == [tmp_path.name]


@pytest.mark.parametrize("folders", [1, 2])
def test_a_console_log_beside_run_folders_is_a_run(tmp_path: Path, folders: int) -> None:
    for seed in range(1, 1 + folders):
        table(tmp_path / f"attempt{seed}", seed)
    (tmp_path / "old.log").write_text(lines(7))
    found = group(tmp_path)
    assert [run.name for run in found.runs] == [*(f"attempt{i}" for i in range(1, 1 + folders)), "old.log"]
    assert "old.log beside attempt1" in found.why


def test_the_console_log_of_the_run_beside_it_is_none(tmp_path: Path) -> None:
    table(tmp_path / "PPO_1", 1)
    rows = map(json.loads, (tmp_path / "PPO_1" / "metrics.jsonl").read_text().splitlines())
    printed = "".join(f"step {r['step']} reward: {r['reward']:.2f} loss: {r['loss']:.3f}\n" for r in rows)
    (tmp_path / "nohup.out").write_text(printed)
    assert names(tmp_path) == [tmp_path.name]


@pytest.mark.parametrize("folders", [1, 2])
def test_a_console_log_in_epochs_is_compared_with_runs_in_steps(tmp_path: Path, folders: int) -> None:
    for seed in range(1, 1 + folders):
        table(tmp_path / f"attempt{seed}", seed)
    rows = [json.loads(row) for row in (tmp_path / "attempt1" / "metrics.jsonl").read_text().splitlines()]

    def printed(by: float) -> str:
        said = ({"loss": by + r["loss"], "reward": by + r["reward"], "epoch": (r["step"] + 1) / 100} for r in rows)
        return "".join(f"{row}\n" for row in said)

    (tmp_path / "nohup.out").write_text(printed(0))
    runs = [f"attempt{i}" for i in range(1, 1 + folders)]
    assert names(tmp_path) == (runs if folders > 1 else [tmp_path.name])
    (tmp_path / "nohup.out").write_text(printed(9))
    assert names(tmp_path) == [*runs, "nohup.out"]


def test_the_user_decides(tmp_path: Path) -> None:
    (tmp_path / "part1.log").write_text(lines(1, 0, 40))
    (tmp_path / "part2.log").write_text(lines(1, 40, 80))
    assert names(tmp_path, How.EACH) == ["part1.log", "part2.log"]
    (tmp_path / "part2.log").write_text(lines(2))
    assert names(tmp_path, How.ONE) == [tmp_path.name]
    shown = {flag: CliRunner().invoke(command, [str(tmp_path), *flag]) for flag in ((), ("--one-run",), ("--each",))}
    assert {flag: result.stdout.count("Format ") for flag, result in shown.items()} == {
        (): 2,
        ("--one-run",): 1,
        ("--each",): 2,
    }
    assert "read as one run, as asked" in shown[("--one-run",)].stderr


def test_the_pickled_state_of_a_search_beside_a_trial_is_no_damaged_log(tmp_path: Path) -> None:
    """Ray Tune pickles the state of its search into a file that is named `.json`."""
    table(tmp_path / "DQN_CartPole-v1_10e57", 0, "result.json")
    (tmp_path / "basic-variant-state-2026-11-28_05-46-32.json").write_bytes(pickle.dumps({"iterators": [1, 2]}))
    assert group(tmp_path).runs == (tmp_path / "DQN_CartPole-v1_10e57",)
    assert not read(tmp_path / "DQN_CartPole-v1_10e57").unread


def test_what_an_experiment_writes_beside_the_logs_of_a_trial_is_no_log(tmp_path: Path) -> None:
    trial = tmp_path / "treated-0"
    table(trial / "out", seed=1)
    for name in ("trial.json", "group.json", "result.json", "watch.jsonl"):
        (trial / name).write_text('{"step": 1, "reward": 5, "seconds": 3}\n')
    assert names(trial) == ["treated-0"]
    assert len(read(trial).series["reward.mean"].values) == 60


@pytest.mark.parametrize("begins", [60, 0])
def test_numbered_parts_of_which_each_goes_on_are_one_run(tmp_path: Path, begins: int) -> None:
    for part, first in ((1, 0), (2, begins)):
        rows = "\n".join(f"{first + i},{0.01 * (first + i) + 0.003 * part * (i % 7)}" for i in range(60))
        (tmp_path / f"part{part}").mkdir()
        (tmp_path / f"part{part}" / "progress.csv").write_text(f"step,reward\n{rows}\n")
    assert len(group(tmp_path).runs) == (1 if begins else 2)


@pytest.mark.parametrize(
    "folders", [("ppo_a", "train_b"), ("train_a", "train_b"), ("ppo_a", "logs"), ("eval_a", "eval_b")]
)
def test_a_training_of_its_own_is_a_run_whatever_its_folder_is_called(tmp_path: Path, folders: tuple[str, str]) -> None:
    for seed, name in enumerate(folders):
        table(tmp_path / name, seed)
    assert names(tmp_path) == sorted(folders)


def test_an_evaluation_with_the_names_of_its_training_is_part_of_it(tmp_path: Path) -> None:
    for seed, name in enumerate(("train", "eval")):
        table(tmp_path / name, seed)
    assert names(tmp_path) == [tmp_path.name]
