"""Jupyter notebooks."""

import json

import pytest

from firstbreak.readers import Unreadable, notebook
from tests.readers.files import file_of, points, read, values


def book(*outputs: dict[str, object]) -> str:
    return json.dumps({"cells": [{"cell_type": "code", "outputs": list(outputs)}], "nbformat": 4})


def table(header: list[str], *rows: list[object]) -> dict[str, object]:
    cells = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    head = "".join(f"<th>{name}</th>" for name in header)
    html = f"<div><progress value='2' max='2'></progress>[2/2 00:10]</div>\n<table border='1'><thead><tr>{head}</tr>{cells}"
    return {
        "output_type": "display_data",
        "data": {"text/html": html.splitlines(keepends=True), "text/plain": "<HTML>"},
    }


def test_the_progress_table():
    header = ["Step", "Training Loss", "Validation Loss", "rewards / f"]
    recording = read(notebook, book(table(header, [1, "0.5", "No log", "nan"], [2, "0.25", "0.3", "-1"])), "grpo.ipynb")
    assert recording.indexed_by == "row"
    assert recording.format == "notebook"
    assert values(recording, "Step") == [1, 2]
    assert points(recording, "Validation Loss") == [(1, 0.3)]
    assert values(recording, "rewards / f") == ["nan", -1]


def test_the_largest_of_several_tables_is_the_run():
    small = table(["Step", "loss"], [1, 0.5])
    large = table(["Step", "reward"], [1, 0.5], [2, 0.6])
    recording = read(notebook, book(small, large), "grpo.ipynb")
    assert set(recording.curves) == {"Step", "reward"}
    assert recording.notes == ["1 smaller tables of numbers left out"]


def test_printed_logs_count_where_there_is_no_table():
    stream = {"output_type": "stream", "name": "stdout", "text": ["{'loss': 0.5, ", "'epoch': 0.1}\n"]}
    assert values(read(notebook, book(stream), "grpo.ipynb"), "loss") == [0.5]


def prints(*lines: str) -> dict[str, object]:
    return {"output_type": "stream", "name": "stdout", "text": [f"{line}\n" for line in lines]}


def test_printed_logs_come_before_a_table_that_counts_no_steps():
    frame = table(["", "chosen", "tokens"], [0, 12, 3], [1, 14, 5])
    logs = prints(*(f"{{'loss': {i / 4}, 'rewards/margins': 0.5, 'epoch': {i / 10}}}" for i in range(1, 4)))
    recording = read(notebook, book(frame, logs), "dpo.ipynb")
    assert values(recording, "loss") == [0.25, 0.5, 0.75]


def test_one_remark_takes_no_table_away():
    frame = table(["", "reward_before", "reward_after"], [0, 1.5, 2.5], [1, 1.25, 2.25])
    recording = read(notebook, book(frame, prints("epoch 1, mean reward: 2.0")), "ppo.ipynb")
    assert values(recording, "reward_after") == [2.5, 2.25]


def test_printed_rewards_come_before_a_table_that_holds_none():
    progress = table(["Step", "Training Loss"], [5, 0.0], [10, 0.0])
    logs = prints(*(f"Batch {i}: mean_reward={i / 4}" for i in range(6)))
    assert values(read(notebook, book(progress, logs), "grpo.ipynb"), "mean_reward") == [i / 4 for i in range(6)]
    with_rewards = table(["Step", "reward"], [5, 0.5], [10, 0.75])
    assert values(read(notebook, book(with_rewards, logs), "grpo.ipynb"), "reward") == [0.5, 0.75]


def test_tables_inside_cells_do_no_harm():
    html = "<table><tr><td>Step<table>x<tr><td>1</td></tr></table></td></tr><tr><td>2</td></tr></table>"
    assert read(notebook, book({"data": {"text/html": html}}), "odd.ipynb").curves == {}


@pytest.mark.parametrize(
    "text", ["{}", '{"cells": 3}', '{"cells": [1, {"outputs": {}}, {"outputs": [1, {"data": 2, "text": [3]}]}]}', "[]"]
)
def test_odd_notebooks_hold_nothing(text: str):
    with file_of(text, "odd.ipynb") as path:
        assert notebook.read(path).curves == {}


@pytest.mark.parametrize("text", ["", '{"cells": [', "{" * 100_000])
def test_broken_notebooks_are_refused(text: str):
    with file_of(text, "odd.ipynb") as path, pytest.raises(Unreadable, match="no whole notebook"):
        notebook.read(path)
