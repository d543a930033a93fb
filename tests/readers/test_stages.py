"""Steps of consoles and notebooks: headings of a script, progress bars, several trainings and restarts in one log."""

import json
from pathlib import Path

import pytest

from firstbreak.model import Run
from firstbreak.readers.follow import Follower
from firstbreak.readers.read import read

N = 30


def grpo(i: int, n: int = N) -> dict[str, float]:
    return {
        "loss": 0.01,
        "grad_norm": 0.3,
        "reward": i / n,
        "reward_std": 0.2,
        "kl": 0.01,
        "epoch": round((i + 1) / n, 2),
    }


def sft(i: int, n: int = 40) -> dict[str, float]:
    return {"loss": 2 / (i + 1), "grad_norm": 1.0, "learning_rate": 1e-5, "epoch": round((i + 1) / n, 2)}


def bar(done: int, total: int) -> str:
    return f" {100 * done // total:2}%|█▍        | {done}/{total} [00:10<10:00,  2.4s/it]"


def log(folder: Path, text: str, name: str = "train.log") -> Run:
    (folder / name).write_text(text)
    return read(folder)


def steps(run: Run) -> list[float]:
    return run.series["reward.mean"].steps.tolist()


HEADINGS = ["=== Step 2: GRPO ===", "Step 3/5: Training", "Step 3/5", "=== Step 2 ===", "## STEP 2 - train the policy"]


@pytest.mark.parametrize("heading", HEADINGS)
@pytest.mark.parametrize("row", [lambda i: str(grpo(i)), lambda i: f"reward: {i / N:.3f}, loss: 0.01, kl: 0.2"])
def test_a_heading_of_a_script_is_no_training_step(heading: str, row, tmp_path: Path) -> None:
    text = f"=== Step 1: load the model ===\n{heading}\n" + "".join(row(i) + "\n" for i in range(N))
    run = log(tmp_path, text)
    assert len(run.series["reward.mean"]) == N
    assert (run.series["reward.mean"].steps[1:] > run.series["reward.mean"].steps[:-1]).all()


@pytest.mark.parametrize("form", ["{bar}\r{row}\n", "{bar}\n{row}\n", "{row} {bar}\n", "{bar}      {row}\n"])
@pytest.mark.parametrize("heading", ["", "=== Step 2 ===\n"])
def test_a_row_without_a_step_takes_it_from_the_bar_beside_it(form: str, heading: str, tmp_path: Path) -> None:
    rows = (form.format(bar=bar(10 * (i + 1), 10 * N), row=grpo(i)) for i in range(N))
    run = log(tmp_path, heading + bar(0, 10 * N) + "\r" + "".join(rows))
    assert run.axis == "step"
    assert steps(run) == [10 * (i + 1) for i in range(N)]


def test_bars_of_evaluations_and_of_generation_are_not_those_of_the_training(tmp_path: Path) -> None:
    text = "".join(
        f"{bar(10 * (i + 1), 300)}\n{grpo(i)}\n"
        + "".join(f"Generating: {bar(k, 8).strip()}\r{bar(k, 8)}\r" for k in range(9))
        + (f"{{'eval_reward': 0.5, 'epoch': {(i + 1) / N}}}\n" if i % 5 == 4 else "")
        for i in range(N)
    )
    run = log(tmp_path, text)
    assert steps(run) == [10 * (i + 1) for i in range(N)]
    assert run.series["eval.reward"].steps.tolist() == [50, 100, 150, 200, 250, 300]


def test_a_log_that_says_its_steps_does_not_ask_the_bar(tmp_path: Path) -> None:
    run = log(tmp_path, "".join(f"{bar(i, N)}\n{ {'step': 7 * i, **grpo(i)} }\n" for i in range(N)))
    assert steps(run) == [7 * i for i in range(N)]


def test_following_a_console_finds_the_steps_of_its_bar(tmp_path: Path) -> None:
    lines = [f"{bar(10 * (i + 1), 10 * N)}\n{grpo(i)}\n" for i in range(N)]
    follower = Follower(tmp_path)
    for i in range(1, N + 1):
        (tmp_path / "train.log").write_text("".join(lines[:i]))
        follower.update()
    assert steps(follower.run()) == steps(read(tmp_path))


def stages(first: list[dict[str, float]], second: list[dict[str, float]], name: str) -> str:
    if name.endswith(".ipynb"):
        outputs = [{"output_type": "stream", "text": "".join(f"{row}\n" for row in rows)} for rows in (first, second)]
        return json.dumps({"cells": [{"cell_type": "code", "outputs": [output]} for output in outputs]})
    end = "{'train_runtime': 60.0, 'train_loss': 0.3, 'epoch': 1.0}\n"
    if name.endswith("bars.log"):
        return "".join(
            "".join(f"{bar(i + 1, len(rows))}\n{row}\n" for i, row in enumerate(rows)) + end for rows in (first, second)
        )
    return "".join("".join(f"{row}\n" for row in rows) + end for rows in (first, second))


@pytest.mark.parametrize("name", ["train.log", "bars.log", "run.ipynb"])
@pytest.mark.parametrize("rl_first", [False, True])
@pytest.mark.parametrize("n_sft", [12, 40, 200])
def test_of_a_fine_tuning_and_an_rl_run_the_rl_run_is_read(
    name: str, rl_first: bool, n_sft: int, tmp_path: Path
) -> None:
    fine_tuning, rl = [sft(i, n_sft) for i in range(n_sft)], [grpo(i) for i in range(N)]
    run = log(tmp_path, stages(rl, fine_tuning, name) if rl_first else stages(fine_tuning, rl, name), name)
    assert run.series["loss.total"].values.tolist() == [0.01] * N
    assert run.series["reward.mean"].values.tolist() == [i / N for i in range(N)]
    (note,) = (note for note in run.notes if "2 trainings" in note)
    assert f"Number {1 if rl_first else 2} is read" in note


def test_a_fine_tuning_that_shares_all_its_metrics_is_still_another_training(tmp_path: Path) -> None:
    text = "".join(f"step: {i} loss: 2.0 lr: 1e-5\n" for i in range(100))
    text += "".join(f"step: {i} loss: 0.01 lr: 1e-6 reward: {i / 50}\n" for i in range(50))
    run = log(tmp_path, text)
    assert set(run.series["lr"].values) == {1e-6}
    assert run.last_step == 49


def test_a_restart_is_merged_and_said(tmp_path: Path) -> None:
    rows = [*range(50), *range(40, 80)]
    text = "".join(f"step: {s} loss: 0.01 reward: {n / 100} kl: 0.01\n" for n, s in enumerate(rows))
    run = log(tmp_path, text)
    assert steps(run) == list(range(80))
    assert run.series["reward.mean"].values[40] == 0.5
    assert any("step goes back from 49 to 40" in note for note in run.notes)


@pytest.mark.parametrize("name", ["log.csv", "train.log"])
def test_runs_below_each_other_are_told_apart_and_the_last_is_read(name: str, tmp_path: Path) -> None:
    rows = [(episode, run) for run, length in enumerate((20, 20, 30)) for episode in range(length)]
    line, head = ("{},{}.5\n", "Episode,Reward\n") if name == "log.csv" else ("Episode: {}, Reward: {}.5\n", "")
    run = log(tmp_path, head + "".join(line.format(*row) for row in rows), name)
    assert run.series["reward.mean"].values.tolist() == [2.5] * 30
    assert "3 runs stand below each other, of which the last is read, 30 of 70 rows" in run.damage[0]


def test_steps_that_begin_again_in_each_epoch_are_no_further_runs(tmp_path: Path) -> None:
    text = "".join(f"Epoch {epoch}/3, Step {step}, Reward: {epoch}.5\n" for epoch in (1, 2, 3) for step in range(20))
    assert not log(tmp_path, text).damage


def test_the_progress_table_of_the_rl_run_goes_before_a_longer_one(tmp_path: Path) -> None:
    def table(names: list[str], rows: list[list[float]]) -> dict[str, object]:
        cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>" for row in rows)
        head = "".join(f"<th>{name}</th>" for name in names)
        return {"outputs": [{"data": {"text/html": f"<table><thead><tr>{head}</tr></thead>{cells}</table>"}}]}

    fine_tuning = table(["Step", "Training Loss"], [[i, 2 / (i + 1)] for i in range(400)])
    rl = table(["Step", "Training Loss", "reward", "kl"], [[i, 0.01, i / N, 0.01] for i in range(N)])
    run = log(tmp_path, json.dumps({"cells": [fine_tuning, rl]}), "run.ipynb")
    assert len(run.series["reward.mean"]) == N
    assert any("1 other tables" in note for note in run.notes)
