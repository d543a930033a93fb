"""JSON lines."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.readers import Unreadable, jsonl
from firstbreak.readers.read import read as read_run
from tests.readers.files import file_of, points, read, values


def lines(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


def test_flat_records_are_indexed_by_row():
    recording = read(jsonl, lines({"step": 5, "loss": 0.5}, {"step": 10, "loss": 0.25}), "metrics.jsonl")
    assert recording.indexed_by == "row"
    assert points(recording, "loss") == [(0, 0.5), (1, 0.25)]
    assert values(recording, "step") == [5, 10]


def test_nan_and_infinity_were_recorded_and_null_is_absent():
    text = '{"a": NaN, "b": Infinity}\n{"a": null, "b": -Infinity}\n{"a": 1}\n{"a": "NaN"}\n'
    recording = read(jsonl, text, "metrics.jsonl")
    assert points(recording, "a") == [(0, "nan"), (2, 1), (3, "nan")]
    assert values(recording, "b") == [math.inf, -math.inf]


def test_nested_names_are_joined_with_slashes():
    recording = read(jsonl, lines({"info": {"learner": {"kl": 0.1}}, "n": 1}), "result.json")
    assert values(recording, "info/learner/kl") == [0.1]


def test_a_repeated_config_is_read_once_as_config():
    record = {"training_iteration": 1, "config": {"lr": 0.1, "model": {"dim": 42}, "schedule": [[0, 1]]}}
    recording = read(jsonl, lines(record, record), "result.json")
    assert recording.config == {"lr": 0.1, "model.dim": 42, "schedule": [[0, 1]]}
    assert set(recording.curves) == {"training_iteration"}


def test_the_envelope_of_a_file_logger_carries_the_step():
    text = lines({"step": 3, "data": {"actor/kl": 0.1}}, {"step": 4, "data": {"actor/kl": 0.2, "val/acc": 1}})
    recording = read(jsonl, text, "run.jsonl")
    assert recording.indexed_by == "step"
    assert points(recording, "actor/kl") == [(3, 0.1), (4, 0.2)]
    assert points(recording, "val/acc") == [(4, 1)]


def test_several_lines_of_one_step_are_several_rows():
    text = lines({"step": 1, "reward": 0.5}, {"step": 1, "loss": 2}, {"step": 2, "reward": 0.6})
    recording = read(jsonl, text, "metrics.jsonl")
    assert points(recording, "reward") == [(0, 0.5), (2, 0.6)]
    assert points(recording, "loss") == [(1, 2)]
    assert values(recording, "step") == [1, 1, 2]


def test_texts_that_never_change_are_facts():
    recording = read(jsonl, lines({"env": "Pong", "d": "a", "x": 1}, {"env": "Pong", "d": "b", "x": 2}), "a.jsonl")
    assert recording.config == {"env": "Pong"}


def test_lists_are_named_among_what_was_left_out():
    recording = read(jsonl, lines({"hist": [1, 2], "x": 1}), "a.jsonl")
    assert recording.notes == ["not numbers, left out: hist"]


def test_a_broken_line_costs_only_itself():
    recording = read(jsonl, '{"x": 1}\n{"x": 2, "y\n{"x": 3}\n', "a.jsonl")
    assert values(recording, "x") == [1, 3]
    assert recording.damage == ["line 2: 1 lines are no JSON object, left out; check for a killed writer"]


def test_a_whole_last_line_without_newline_counts_and_a_cut_one_waits():
    assert values(read(jsonl, '{"x": 1}\n{"x": 2}', "a.jsonl"), "x") == [1, 2]
    cut = read(jsonl, '{"x": 1}\n{"x": 2', "a.jsonl")
    assert values(cut, "x") == [1]
    assert "left for the next read" in cut.notes[0]


def test_integers_beyond_float_are_infinite():
    assert values(read(jsonl, '{"x": 1' + "0" * 400 + '}\n{"x": -1' + "0" * 400 + "}\n", "a.jsonl"), "x") == [
        math.inf,
        -math.inf,
    ]
    enveloped = read(jsonl, '{"step": 1' + "0" * 400 + ', "data": {"x": 1}}\n', "a.jsonl")
    assert points(enveloped, "x") == [(math.inf, 1)]


def test_a_step_that_is_written_with_its_end():
    text = "".join(f'{{"loss": 0.5, "global_step/max_steps": "{i}/547", "model/name": "1/2"}}\n' for i in (1, 2))
    recording = read(jsonl, text, "logging.jsonl")
    assert points(recording, "global_step") == [(0, 1), (1, 2)]
    assert recording.config == {"model/name": "1/2"}


@pytest.mark.parametrize(
    ("name", "text", "claimed"),
    [
        ("result.json", '{"training_iteration": 1}\n', True),
        ("other.json", '{"a": 1}\n{"a": 2}\n', True),
        ("other.json", '{"a": "' + "x" * 8000 + '"}\n{"a": 2}\n', True),
        ("params.json", '{"lr": 1}\n', False),
        ("params.json", '{\n  "lr": 1\n}\n', False),
        ("book.ipynb", '{"cells": []}\n{"a": 1}\n', False),
        ("pasted.txt", "{'a': 1}\n{'a': 2}\n", False),
        ("a.jsonl", "[1, 2]\n", False),
        ("blob.jsonl", '{"\0', False),
    ],
)
def test_which_files_are_claimed(name: str, text: str, claimed: bool):
    with file_of(text, name) as path:
        assert jsonl.sniff(path, path.read_bytes()[:4096]) is claimed


def test_an_empty_file_is_refused_with_a_remedy():
    with file_of("", "a.jsonl") as path, pytest.raises(Unreadable, match="is empty"):
        jsonl.read(path)


def test_resume_returns_only_what_was_appended():
    with file_of('{"x": 1}\n{"x": 2', "a.jsonl") as path:
        first = jsonl.read(path)
        path.write_text('{"x": 1}\n{"x": 2}\n{"x": 3}')
        second = jsonl.read(path, first.resume)
        path.write_text('{"x": 1}\n{"x": 2}\n{"x": 3}\n{"x": 4}\n')
        third = jsonl.read(path, second.resume)
        path.write_text('{"x": 9}\n')
        fourth = jsonl.read(path, third.resume)
    assert [points(r, "x") for r in (first, second, third)] == [[(0, 1)], [(1, 2), (2, 3)], [(3, 4)]]
    assert not third.replaces
    assert fourth.replaces
    assert points(fourth, "x") == [(0, 9)]


NUMBER = st.floats() | st.integers()
RECORDS = st.lists(
    st.dictionaries(st.sampled_from(["a", "b/c", "d e", "ü"]), NUMBER | st.none(), min_size=1), min_size=1
)


@pytest.mark.slow
@given(RECORDS)
def test_what_is_written_is_read(records: list[dict[str, float | None]]):
    recording = read(jsonl, lines(*records), "a.jsonl")
    for name in {name for record in records for name in record}:
        written = [(i, record[name]) for i, record in enumerate(records) if record.get(name) is not None]
        curve = recording.curves.get(name)
        assert [i for i, _ in written] == (curve.index.tolist() if curve else [])
        for (_, wrote), got in zip(written, curve.values if curve else [], strict=True):
            assert got == wrote or np.isclose(got, float(wrote), rtol=0) or (math.isnan(wrote) and math.isnan(got))


@pytest.mark.slow
@given(RECORDS, st.integers(0, 1000))
def test_a_cut_costs_at_most_the_last_line(records: list[dict[str, float | None]], cut: int):
    data = lines(*records).encode()[:cut]
    whole = data.count(b"\n")
    with file_of(data, "a.jsonl") as path:
        try:
            recording = jsonl.read(path)
        except Unreadable:
            assert not data
            return
    for name, curve in recording.curves.items():
        assert set(curve.index.tolist()) >= {i for i in range(whole) if records[i].get(name) is not None}


@pytest.mark.slow
def test_records_that_share_no_name_do_not_fill_the_memory():
    lines = "".join(f'{{"n{i}": {i}}}\n' for i in range(20_000))
    recording = read(jsonl, lines, "metrics.jsonl")
    assert len(recording.curves) == 20_000
    assert points(recording, "n7") == [(7, 7)]


def test_empty_records_and_texts_between_numbers():
    recording = read(jsonl, '{}\n{"a": "x"}\n{}\n{"a": 2, "b": null}\n{"b": 1.5}\n', "metrics.jsonl")
    assert points(recording, "a") == [(3, 2)]
    assert points(recording, "b") == [(4, 1.5)]


def test_rows_of_a_replay_buffer_say_whether_the_observation_changes(tmp_path):
    rows = [{"state": [i, 0], "action": 1, "reward": 0.0, "next_state": [i, i % 2], "done": False} for i in range(30)]
    (tmp_path / "memory.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "log.csv").write_text("step,reward\n" + "".join(f"{i},{i}\n" for i in range(30)))
    run = read_run(tmp_path)
    assert list(run.series["env.transition_unchanged"].values) == [1.0, 0.0] * 15
    assert max(run.series["reward.mean"].values) == 29  # the buffer's rewards are no curve
    assert any("30 stored transitions" in note for note in run.notes)


def test_a_log_that_names_its_states_stays_a_log(tmp_path):
    rows = [{"episode": i, "state": i % 5, "next_state": (i + 1) % 5, "reward": i, "td_error": 0.3} for i in range(30)]
    (tmp_path / "log.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run = read_run(tmp_path)
    assert max(run.series["reward.mean"].values) == 29
    assert not run.series["env.transition_unchanged"].values.any()


def test_a_first_line_of_words_holds_the_options_of_the_run() -> None:
    lines = ['{"model": "phi", "bs": 32, "lr": 1e-6, "sampling": {"n": 4}, "reward": "gold"}']
    lines += [f'{{"step": {i}, "reward": 0.{i}, "loss": 0.1}}' for i in range(4)]
    recording = read(jsonl, "\n".join(lines) + "\n", "log.jsonl")
    assert recording.config["sampling.n"] == 4
    assert values(recording, "reward") == [0.0, 0.1, 0.2, 0.3]


def test_a_first_line_that_is_cut_or_a_message_costs_itself_alone():
    for first in ('ard": 0.5}', "Starting the training"):
        recording = read(jsonl, first + '\n{"step": 1, "loss": 2}\n{"step": 2, "loss": 1}\n', "eval.jsonl")
        assert values(recording, "loss") == [2, 1]
        assert recording.damage == ["line 1: 1 lines are no JSON object, left out; check for a killed writer"]


def test_rows_that_time_an_evaluation_are_of_held_out_data(tmp_path: Path) -> None:
    rows = "".join(f'{{"step": {n}, "eval_time": 3.5, "mean_episode_reward": {n}}}\n' for n in range(8))
    (tmp_path / "eval.log").write_text(rows)
    assert "eval.reward" in read_run(tmp_path / "eval.log").series
