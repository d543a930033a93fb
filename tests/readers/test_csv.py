"""Tables of text."""

import csv as stdlib_csv
import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.readers import Unreadable, csv
from firstbreak.readers.read import read as read_run
from tests.readers.files import file_of, points, read, values


def test_a_list_of_things_is_no_training_log(tmp_path: Path) -> None:
    rows = "".join(f"run{i},fmt{i},algo{i},task{i},lic{i},said{i},{i}\n" for i in range(5))
    (tmp_path / "index.csv").write_text(f"id,format,algo,task,licence,verdict,steps\n{rows}")
    with pytest.raises(Unreadable, match="not a training log"):
        read_run(tmp_path / "index.csv")


def test_a_table_of_samples_keeps_its_numbers_and_a_list_beside_a_log_is_named(tmp_path: Path) -> None:
    words = [f"t{i}" for i in range(12)]
    rows = [",".join([str(n), str(n / 10), *(f"{word} {n}" for word in words)]) for n in range(20)]
    (tmp_path / "samples.csv").write_text("\n".join([",".join(["step", "reward", *words]), *rows]))
    assert "reward.mean" in read_run(tmp_path).series
    (tmp_path / "samples.csv").write_text("\n".join([",".join(["cost", "reward", *words]), *rows]))
    (tmp_path / "log.jsonl").write_text("".join(f'{{"step": {n}, "loss": {n}}}\n' for n in range(20)))
    run = read_run(tmp_path)
    assert "reward.mean" not in run.series
    assert any("samples.csv" in note and "words" in note for note in run.notes)
    rows = "".join(f"run,fmt,algo,task,lic,said,{i},0.5\n" for i in range(5))  # options, the same in all rows
    (tmp_path / "log.csv").write_text(f"id,format,algo,task,licence,verdict,step,reward\n{rows}")
    assert "reward.mean" in read_run(tmp_path / "log.csv").series


#: what is special -> a file, its name, and its curves: values, or (index, value)
TABLES: list[tuple[str, str | bytes, str, dict[str, list[Any]]]] = [
    ("an empty cell is absent and nan was recorded",
     "step,loss,kl\n1,,nan\n2,inf,\n3,-inf,1\n", "progress.csv",
     {"loss": [(1, math.inf), (2, -math.inf)], "kl": [(0, "nan"), (2, 1)]}),
    ("decimal commas of spreadsheets", "step;loss\n1;0,5\n2;-1,25\n", "a.csv", {"loss": [0.5, -1.25]}),
    ("tabs in a text file are a table",
     "Epoch\tAverageEpRet\n0\t-100.5\n1\t-90\n", "progress.txt", {"AverageEpRet": [-100.5, -90]}),
    ("crlf and byte order mark",
     b"\xef\xbb\xbfstep,loss\r\n1,0.5\r\n2,0.25\r\n", "a.csv", {"step": [1, 2], "loss": [0.5, 0.25]}),
    ("booleans are numbers", "step,done\n1,False\n2,True\n", "a.csv", {"done": [0, 1]}),
    ("quoted cells may hold separators quotes and newlines",
     'note,loss\n"a, ""b""\nc",0.5\nplain,0.25\n', "a.csv", {"loss": [0.5, 0.25]}),
    ("a half written last row is left for later", "step,loss\n1,0.5\n2,0.2", "a.csv", {"loss": [0.5]}),
    ("text before the header is passed over",
     "Starting the training\n\nstep,loss\n1,0.5\n2,0.25\n", "a.csv", {"loss": [(0, 0.5), (1, 0.25)]}),
    ("a column without a name is called as its file", "\n1.5\n2.5\n", "reward_log.csv", {"reward": [1.5, 2.5]}),
    ("numbers in the first line are data", "0,1.5,7\n1,2.5,8\n", "a.csv", {"column 2": [1.5, 2.5]}),
    ("several values of one step stay in order",
     "step,metric,value\n40,em,0.1\n40,em,0.7\n", "case.csv", {"em": [(40, 0.1), (40, 0.7)]}),
    ("a tensorboard export with holes keeps values beside their steps",
     "Wall time,Step,Value\n1,100,\n2,,7\n3,300,0.5\n", "run-a-tag-loss.csv", {"loss": [(300, 0.5)]}),
    ("a lone carriage return ends every line", "step,loss\r1,0.5\r2,0.25\r", "a.csv", {"loss": [0.5, 0.25]}),
    ("a first column without a name is the saved index", ",loss\n0,0.5\n500,0.25\n", "a.csv", {"unnamed_0": [0, 500]}),
    ("a counter says what it counts on", "step (cum),loss\n1,0.5\n2,0.25\n", "a.csv", {"step": [1, 2]}),
    ("a lone carriage return ends a line beside quotes", 'step,note\n1,"a"\r2,b\n3,"c"\n', "a.csv", {"step": [1, 2, 3]}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "name", "curves"), [pytest.param(*row[1:], id=row[0]) for row in TABLES])
def test_a_table(text: str | bytes, name: str, curves: dict[str, list[Any]]):
    recording = read(csv, text, name)
    for curve, expected in curves.items():
        found = points(recording, curve)
        assert (found if isinstance(expected[0], tuple) else [value for _, value in found]) == expected


def test_a_wide_table_is_indexed_by_row():
    recording = read(csv, "step,loss,kl\n10,0.5,0.01\n20,0.25,0.02\n", "progress.csv")
    assert recording.indexed_by == "row"
    assert points(recording, "step") == [(0, 10), (1, 20)]
    assert points(recording, "kl") == [(0, 0.01), (1, 0.02)]


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_the_separator_is_recognised(separator: str):
    text = "step,loss\n1,0.5\n2,0.25\n".replace(",", separator)
    assert values(read(csv, text, "a.csv"), "loss") == [0.5, 0.25]


def test_constant_texts_are_facts_and_changing_ones_are_dropped():
    recording = read(csv, "step,env,date\n1,Ant-v4,mon\n2,Ant-v4,tue\n", "a.csv")
    assert recording.config == {"env": "Ant-v4"}
    assert set(recording.curves) == {"step"}


def test_a_dict_cell_is_flattened_and_keeps_its_nan():
    row = "\"{'learner': {'vf_loss': nan, 'kl': 0.5}, 'time_ms': 3}\",1\n"
    recording = read(csv, "info,training_iteration\n" + row + row, "progress.csv")
    assert values(recording, "info/learner/vf_loss") == ["nan", "nan"]
    assert values(recording, "info/learner/kl") == [0.5, 0.5]
    assert values(recording, "info/time_ms") == [3, 3]


def test_a_config_column_is_config_and_no_curve():
    recording = read(csv, "config,it\n\"{'lr': 0.1, 'model': {'dim': 42}, 'env': 'Pong'}\",1\n", "progress.csv")
    assert recording.config == {"lr": 0.1, "model.dim": 42, "env": "Pong"}
    assert set(recording.curves) == {"it"}


def test_lists_are_named_among_what_was_left_out():
    recording = read(csv, 'hist,step\n"[1, 2]",1\n', "a.csv")
    assert recording.notes == ["not numbers, left out: hist"]


def test_a_file_cut_inside_a_quoted_cell_loses_that_row_only():
    recording = read(csv, "info,it\n\"{'a': 1}\",1\n\"{'a': 2}\",2\n\"{'a': 3, 'b", "progress.csv")
    assert values(recording, "info/a") == [1, 2]
    assert "left for the next read" in recording.notes[0]


def test_a_stray_quote_costs_one_row_and_not_the_file():
    rows = [f"{i},{i / 2}" for i in range(300)]
    rows[7] = '7,"3.5'
    recording = read(csv, "step,loss\n" + "\n".join(rows) + "\n", "a.csv")
    assert values(recording, "step") == list(range(300))
    assert points(recording, "loss")[6:8] == [(6, 3.0), (8, 4.0)]


def test_words_for_nothing_are_absent():
    text = "step,loss,kl\n1,null,None\n2,0.5,NA\n"
    assert points(read(csv, text, "a.csv"), "loss") == [(1, 0.5)]
    assert points(read(csv, "step,loss\n1,null\n2,0.5\n", "a.csv"), "loss") == [(1, 0.5)]


def test_rows_with_a_wrong_number_of_cells_cost_only_themselves():
    recording = read(csv, "step,loss\n1,0.5\n2\n3,0.25\n4,1,2\n5,0.1,\n", "a.csv")
    assert values(recording, "loss") == [0.5, 0.25, 0.1]
    assert recording.damage == [
        "line 3: 2 rows without the header's 2 cells left out; check whether two writers share the file"
    ]


def test_rows_whose_names_are_lost_are_damage():
    recording = read(csv, "ward\n1,0.5\n2,0.25\n", "a.csv")
    assert not recording.curves
    assert "2 rows without the header's 1 cells" in recording.damage[0]


def test_a_repeated_header_marks_a_restart():
    recording = read(csv, "step,loss\n1,1\n2,2\nstep,loss\n1,3\nstep,loss\nstep,loss\n1,4\n", "a.csv")
    assert values(recording, "loss") == [1, 2, 3, 4]
    assert recording.segment is not None
    assert recording.segment.tolist() == [0, 0, 1, 3]


def test_a_repeated_column_name_gets_a_number():
    assert set(read(csv, "loss,loss,\n1,2,3\n", "a.csv").curves) == {"loss", "loss.1", "column 3"}


# --- long tables -----------------------------------------------------------------------------------------------------


def test_a_long_table_is_pivoted_and_indexed_by_step():
    recording = read(csv, "step,metric,value,note\n1,loss,0.5,\n1,kl,0.1,\n2,loss,0.25,ok\n", "case.csv")
    assert recording.indexed_by == "step"
    assert points(recording, "loss") == [(1, 0.5), (2, 0.25)]
    assert points(recording, "kl") == [(1, 0.1)]


def test_step_words_give_their_number_or_their_place():
    rows = "start,r,1\nend,r,2\nG=4,g,3\nepoch0.33,e,4\nstart,s,5\n"
    recording = read(csv, "step,metric,value\n" + rows, "case.csv")
    assert points(recording, "r") == [(0, 1), (1, 2)]
    assert points(recording, "g") == [(4, 3)]
    assert points(recording, "e") == [(0.33, 4)]
    assert points(recording, "s") == [(0, 5)]


# --- exports ---------------------------------------------------------------------------------------------------------


def test_a_wandb_export_loses_the_run_and_the_envelopes():
    header = '"Step","grpo-1 - train/kl","grpo-1 - train/kl__MIN","grpo-1 - train/kl__MAX"\n'
    recording = read(csv, header + '"10","0.5","0.5","0.5"\n', "wandb_export.csv")
    assert set(recording.curves) == {"Step", "train/kl"}


def test_several_runs_of_a_wandb_export_stay_apart():
    header = '"Step","a - loss","a - loss__MIN","a - loss__MAX","b - loss","b - loss__MIN","b - loss__MAX"\n'
    recording = read(csv, header + '"1","1","1","1","2","2","2"\n"2","3","3","3","","",""\n', "export.csv")
    assert points(recording, "loss[run=a]") == [(0, 1), (1, 3)]
    assert points(recording, "loss[run=b]") == [(0, 2)]


def test_a_tensorboard_export_takes_its_name_from_the_file():
    text = "Wall time,Step,Value\n1700000000.5,100,0.5\n1700000001.5,200,0.25\n"
    recording = read(csv, text, "run-ppo_1-tag-rollout_ep_rew_mean.csv")
    assert recording.indexed_by == "step"
    assert points(recording, "rollout_ep_rew_mean") == [(100, 0.5), (200, 0.25)]
    assert recording.curves["rollout_ep_rew_mean"].times.tolist() == [1700000000.5, 1700000001.5]


# --- growing files ---------------------------------------------------------------------------------------------------


def test_resume_returns_only_what_was_appended():
    with file_of("step,loss\n1,0.5\n2,0.2", "a.csv") as path:
        first = csv.read(path)
        path.write_text("step,loss\n1,0.5\n2,0.25\n3,0.125\n4,")
        second = csv.read(path, first.resume)
        path.write_text("step,loss\n1,0.5\n2,0.25\n3,0.125\n4,0\n")
        third = csv.read(path, second.resume)
    assert points(first, "loss") == [(0, 0.5)]
    assert points(second, "loss") == [(1, 0.25), (2, 0.125)]
    assert points(third, "loss") == [(3, 0)]
    assert not second.replaces
    assert not third.replaces


def test_a_rewritten_file_is_read_anew():
    with file_of("step,loss\n1,0.5\n2,0.25\n", "progress.csv") as path:
        first = csv.read(path)
        path.write_text("kl,loss,step\n,0.5,1\n,0.25,2\n0.1,0.125,3\n")  # SB3 met a new key
        second = csv.read(path, first.resume)
    assert second.replaces
    assert points(second, "kl") == [(2, 0.1)]
    assert values(second, "loss") == [0.5, 0.25, 0.125]


def test_a_file_that_became_shorter_is_read_anew():
    with file_of("step,loss\n1,0.5\n2,0.25\n", "progress.csv") as path:
        first = csv.read(path)
        path.write_text("step,loss\n1,0.5\n")
        second = csv.read(path, first.resume)
    assert second.replaces
    assert values(second, "loss") == [0.5]


def test_step_words_keep_their_place_over_a_resume():
    with file_of("step,metric,value\nstart,r,1\nend,r,2\n", "case.csv") as path:
        first = csv.read(path)
        with path.open("a") as file:
            file.write("end,r,3\nlater,r,4\n")
        second = csv.read(path, first.resume)
    assert points(second, "r") == [(1, 3), (2, 4)]


# --- properties ------------------------------------------------------------------------------------------------------

CELL = st.none() | st.floats() | st.integers(-(2**53), 2**53).map(float)
NAMES = st.lists(st.text("abc/_. xyz", min_size=1).map(str.strip).filter(bool), min_size=1, max_size=5, unique=True)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[list[float | None]]]:
    names = draw(NAMES)
    row = st.lists(CELL, min_size=len(names), max_size=len(names)).filter(lambda r: len(r) > 1 or r[0] is not None)
    return names, draw(st.lists(row, max_size=12))


def text_of(names: list[str], rows: list[list[float | None]]) -> str:
    out = io.StringIO()
    writer = stdlib_csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([["" if cell is None else repr(cell) for cell in row] for row in rows])
    return out.getvalue()


def same(left: float, right: float) -> bool:
    return left == right or (math.isnan(left) and math.isnan(right))


@pytest.mark.slow
@given(tables())
def test_what_is_written_is_read(table: tuple[list[str], list[list[float | None]]]):
    names, rows = table
    recording = read(csv, text_of(names, rows), "a.csv")
    for column, name in enumerate(names):
        written = [(i, row[column]) for i, row in enumerate(rows) if row[column] is not None]
        curve = recording.curves.get(name)
        assert [i for i, _ in written] == (curve.index.tolist() if curve else [])
        assert all(same(v, w) for (_, v), w in zip(written, curve.values if curve else [], strict=True))


@pytest.mark.slow
@given(tables(), st.integers(0, 2000))
def test_a_cut_costs_at_most_the_last_row(table: tuple[list[str], list[list[float | None]]], cut: int):
    names, rows = table
    whole = text_of(names, rows)
    part = whole[: min(cut, len(whole))]
    try:
        recording = read(csv, part, "a.csv")
    except Unreadable:
        assert "\n" not in part
        return
    kept = part.count("\n") - 1
    for column, name in enumerate(names):
        written = [row[column] for row in rows[:kept] if row[column] is not None]
        curve = recording.curves.get(name)
        assert np.array_equal(curve.values if curve else [], written, equal_nan=True)


@pytest.mark.slow
@given(tables(), st.lists(st.integers(0, 2000), max_size=4))
def test_reading_in_pieces_gives_the_same_as_reading_at_once(table, cuts: list[int]):
    names, rows = table
    data = text_of(names, rows).encode()
    header = data.index(b"\n") + 1
    ends = [*sorted(header + cut % (len(data) - header + 1) for cut in cuts), len(data)]
    pieces: dict[str, list[tuple[float, float]]] = {}
    resume = None
    with file_of(b"", "a.csv") as path:
        for end in ends:
            path.write_bytes(data[:end])
            recording = csv.read(path, resume)
            resume = recording.resume
            for name in recording.curves:
                pieces.setdefault(name, []).extend(points(recording, name))
        at_once = csv.read(path)
    assert pieces == {name: points(at_once, name) for name in at_once.curves}


def test_a_real_logger_of_acme(tmp_path):
    loggers = pytest.importorskip("acme.utils.loggers.csv")
    logger = loggers.CSVLogger(directory_or_file=str(tmp_path), label="learner", add_uid=False)
    for step in range(40):
        logger.write(
            {"learner_steps": step, "critic_loss": 1 / (step + 1), "policy_loss": -0.5, "learner_walltime": 1.0}
        )
    logger.close()
    run = read_run(tmp_path)
    assert run.trainer == "acme"
    assert run.series["value.loss"].values.tolist() == [1 / (step + 1) for step in range(40)]
    assert not run.unknown


def test_several_seeds_in_one_table_are_told():
    rows = [f"{seed},{step},{seed * step}" for seed in (1, 2) for step in (0, 100, 200)]
    recording = read(csv, "\n".join(["seed,frame,episode_reward", *rows, ""]), "eval.csv")
    assert any("2 seeds" in note for note in recording.notes)
    assert not read(csv, "seed,frame,episode_reward\n1,0,0\n1,100,1\n", "eval.csv").notes


def test_a_first_line_of_numbers_is_a_row():
    recording = read(csv, "0,move_right,-4.07,160\n1,move_left,8.33,201\n", "output.csv")
    assert points(recording, "column 3") == [(0, -4.07), (1, 8.33)]
    agents = read(csv, "step,0,1,2\n5,0.1,0.2,0.3\n", "agents.csv")  # columns may be called by numbers
    assert points(agents, "1") == [(0, 0.2)]


def test_a_single_column_is_called_what_the_file_says():
    assert points(read(csv, "-20\n-21\n", "rewards.csv"), "rewards") == [(0, -20), (1, -21)]
    assert points(read(csv, "-20\n-21\n", "eval_rewards.txt"), "eval_rewards") == [(0, -20), (1, -21)]
    assert points(read(csv, "-20\n-21\n", "numbers.csv"), "column 1") == [(0, -20), (1, -21)]


@pytest.mark.parametrize(
    ("text", "name", "claimed"),
    [
        ("episode,total_reward,steps\n1,50,1\n", "rewards.txt", True),
        ("episode,total_reward,steps\n1,50,1\n", "log.txt", True),
        ("1.5\n2.5\n", "rewards.txt", True),
        ("1.5\n2.5\n", "numbers.txt", False),
        ("numpy==1.2,torch\n1,2\n", "requirements.txt", False),
        ("Hello, world\nthis is, text\n", "notes.txt", False),
    ],
)
def test_texts_that_begin_like_a_table(tmp_path, text, name, claimed):
    assert csv.sniff(tmp_path / name, text.encode()) is claimed


def test_a_table_named_after_the_evaluation_holds_held_out_scores(tmp_path):
    (tmp_path / "progress.csv").write_text(
        "time/total_timesteps,rollout/ep_rew_mean,train/approx_kl\n"
        + "".join(f"{i}000,{i},0.01\n" for i in range(1, 9))
    )
    (tmp_path / "evaluations.csv").write_text("timesteps,mean_return,std_return\n2000,-5,1\n4000,-6,1\n")
    run = read_run(tmp_path)
    assert list(run.series["eval.reward"].steps) == [2000, 4000]
    assert list(run.series["eval.reward"].values) == [-5, -6]
    assert max(run.series["reward.mean"].values) == 8


def test_single_steps_of_an_environment_are_no_measurements() -> None:
    recording = read(csv, "ep,t,x_next,reward,done\n0,0,0.5,1.0,0\n0,1,0.4,2.0,1\n", "dump.csv")
    assert "reward" not in recording.curves
    assert values(recording, "transitions/reward") == [1.0, 2.0]


def test_marks_of_a_merge_are_named_and_two_scores_both_there(tmp_path):
    sides = ["".join(f"{i},{i},{-i}.5,{side}\n" for i in range(12)) for side in (1, 2)]
    text = f"Episode,Score,Total_Reward,Side\n<<<<<<< HEAD\n{sides[0]}=======\n{sides[1]}>>>>>>> 1bfc12ad\n"
    (tmp_path / "log.csv").write_text(text)
    run = read_run(tmp_path)
    assert any("3 rows without the header's 4 cells left out; settle the merge" in line for line in run.damage)
    assert run.series["reward.mean"].raw == "Total_Reward"
    assert run.series["score.mean"].values.tolist() == list(range(12))


def test_columns_without_names_that_count_or_tell_the_time() -> None:
    recording = read(csv, "".join(f"{i},{-i}.5,9,{1755339958 + i // 2}\n" for i in range(6)), "results.csv")
    assert list(recording.curves) == ["step", "column 2", "column 3", "timestamp"]
    assert values(recording, "step") == [0, 1, 2, 3, 4, 5]


def test_columns_that_a_changed_writer_added() -> None:
    text = "iter,loss\n1,0.5\n2,0.4\n" + "".join(f"{i},0.{i},7\n" for i in (1, 2, 3))
    recording = read(csv, text, "a.csv")
    assert points(recording, "loss") == [(0, 0.5), (1, 0.4), (2, 0.1), (3, 0.2), (4, 0.3)]
    assert points(recording, "column 3") == [(2, 7), (3, 7), (4, 7)]
    assert not recording.damage
    assert any("line 4: from here on rows have 1 more cells than the header" in note for note in recording.notes)


def test_one_file_for_each_metric_is_called_by_it(tmp_path: Path) -> None:
    for name, level in (("environment", -900.0), ("td_error", 0.5), ("value_scale", 3.0)):
        rows = (f"{epoch},{1000 * epoch},{level + epoch}\n" for epoch in range(1, 9))
        (tmp_path / f"{name}.csv").write_text("".join(rows))
    found = read_run(tmp_path)
    assert found.trainer == "d3rlpy"
    assert found.series["eval.reward"].steps[-1] == 8000
    assert found.series["value.mean"].values[-1] == 11.0
