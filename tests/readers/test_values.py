"""Numbers as people log them: quoted, in lists, repeated until the next one, in columns of unequal length, missing."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from firstbreak.model import Run, Series
from firstbreak.readers import Unreadable, json_points
from firstbreak.readers._repeats import thinned
from firstbreak.readers.follow import Follower
from firstbreak.readers.read import read
from firstbreak.reports import inspection

Rows = Sequence[dict[str, object]]


def jsonl(path: Path, rows: Rows) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def csv(path: Path, rows: Rows) -> None:
    path.write_text("\n".join([",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]) + "\n")


def test_steps_and_times_that_fall_are_of_one_episode(tmp_path: Path) -> None:
    rows = [{"Episode": i, "reward": 1.5, "Total_Steps": 9 + i % 3, "elapsed_time": 3 + i % 2} for i in range(12)]
    run = run_of(tmp_path, "log.csv", rows)
    assert run.series["episode.length"].values[:3].tolist() == [9, 10, 11]
    assert run.series["time.step"].values[:2].tolist() == [3, 4]
    beside = [{"Episode": i, "score": 1.5, "steps": 9 + i % 3, "total_steps": 10 * i} for i in range(12)]
    assert run_of(tmp_path, "log.csv", beside).series["episode.length"].values[:3].tolist() == [9, 10, 11]
    assert not {"progress.step", "time.elapsed"} & run.series.keys()


def test_a_time_between_colons_is_in_seconds(tmp_path: Path) -> None:
    rows = [{"step": i, "loss": 1.5, "elapsed_time": f"{i} days, 0:01:0{i}"} for i in range(3)]
    run = run_of(tmp_path, "log.jsonl", rows)
    assert run.series["time.elapsed"].values.tolist() == [60, 86461, 172862]


def run_of(folder: Path, name: str, text: str | Rows) -> Run:
    path = folder / name
    if isinstance(text, str):
        path.write_text(text)
    elif name.endswith(".jsonl"):
        jsonl(path, text)
    elif name.endswith(".csv"):
        csv(path, text)
    elif name == "trainer_state.json":
        path.write_text(json.dumps({"global_step": len(text), "log_history": list(text)}))
    elif name.endswith(".json"):
        path.write_text(json.dumps(list(text)))
    elif name.endswith(".ipynb"):
        head = "".join(f"<th>{key}</th>" for key in text[0])
        body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row.values()) + "</tr>" for row in text)
        outputs = [{"data": {"text/html": f"<table><tr>{head}</tr>{body}</table>"}}]
        path.write_text(json.dumps({"cells": [{"outputs": outputs}]}))
    elif name.endswith(".md"):
        lines = [list(text[0]), ["---"] * len(text[0]), *(list(row.values()) for row in text)]
        path.write_text("\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines))
    elif name == "pairs.log":
        path.write_text("".join(", ".join(f"{k}: {v}" for k, v in row.items()) + "\n" for row in text))
    else:
        path.write_text("".join(f"{row}\n" for row in text))
    return read(folder)


# --- quoted, lists, flags ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["metrics.jsonl", "log.json", "metrics.csv", "trainer_state.json", "train.log"])
def test_quoted_numbers_are_numbers(name: str, tmp_path: Path) -> None:
    quote = '"{}"' if name.endswith(".csv") else "{}"
    run = run_of(tmp_path, name, [{"step": i, "reward": quote.format(i / 50), "lr": "1e-5"} for i in range(50)])
    assert run.series["reward.mean"].values.tolist() == [i / 50 for i in range(50)]


def test_a_quoted_number_that_never_changes_is_an_option_as_well(tmp_path: Path) -> None:
    run = run_of(tmp_path, "metrics.jsonl", [{"step": i, "reward": i, "gamma": "0.99"} for i in range(9)])
    assert run.config.number("gamma") == 0.99


@pytest.mark.parametrize("name", ["metrics.jsonl", "log.json", "metrics.csv"])
def test_flags_are_curves_of_zeros_and_ones(name: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, name, [{"step": i, "reward": i, "skipped": i % 3 == 0} for i in range(9)])
    assert run.unknown["skipped"].values.tolist() == [1, 0, 0] * 3


SKIPS = {
    "train.log": "".join(
        f"step {i} SKIP rewards=[0, 0, 0, 0]\n" if i % 2 else f"step {i} rewards=[0, 1, 0, 1] loss=0.1\n"
        for i in range(40)
    ),
    "dicts.log": "".join(f"{ {'step': i, 'rewards': [0, 0, 0, 0] if i % 2 else [0, 1, 0, 1]} }\n" for i in range(40)),
    "metrics.jsonl": "".join(
        json.dumps({"step": i, "rewards": [0, 0, 0, 0] if i % 2 else [0, 1, 0, 1]}) + "\n" for i in range(40)
    ),
}


@pytest.mark.parametrize("name", SKIPS)
def test_a_list_of_rewards_has_a_mean_and_a_spread(name: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, name, SKIPS[name])
    assert run.series["reward.mean"].values.tolist() == [0.5, 0] * 20
    assert run.series["reward.group_std"].values.tolist() == [0.5, 0] * 20
    assert run.series["reward.mean"].steps.tolist() == list(range(40))


# --- clocks ---------------------------------------------------------------------------------------------------------------


def test_a_few_durations_that_happen_to_rise_are_no_clock(tmp_path: Path) -> None:
    rows = [{"step": i, "reward": i / 9, "time": 0.5 + 0.1 * i} for i in range(5)]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert "time.elapsed" not in read(tmp_path).series


@pytest.mark.parametrize("name", ["time", "Seconds", "wall"])
@pytest.mark.parametrize(
    ("values", "signal"),
    [
        (lambda i: 3.0 + 1.5 * i, "time.elapsed"),
        (lambda i: 1.7e9 + 1.5 * i, "time.unix"),
        (lambda i: 3.0 + i % 3, None),  # what each row took
    ],
)
def test_a_column_of_plain_time_that_only_rises_is_a_clock(
    name: str, values: Callable[[int], float], signal: str | None, tmp_path: Path
) -> None:
    run = run_of(tmp_path, "log.jsonl", [{"step": i, "reward": i / 9, name: values(i)} for i in range(30)])
    assert [s for s in run.series if s.startswith("time.")] == ([signal] if signal else [])
    assert (name in run.unknown) is (signal is None)


def test_a_plain_column_is_no_clock_where_the_log_has_one(tmp_path: Path) -> None:
    rows = [{"step": i, "reward": i / 9, "time_elapsed": 2.0 * i, "time": 3.0 + i} for i in range(30)]
    run = run_of(tmp_path, "log.jsonl", rows)
    assert run.series["time.elapsed"].raw == "time_elapsed"
    assert "time" in run.unknown


# --- repeated ----------------------------------------------------------------------------------------------------------


def curve(values: object) -> Series:
    array = np.array(values, dtype=float)
    return Series(name="eval.reward", steps=np.arange(len(array), dtype=float), values=array)


def test_an_evaluation_that_a_table_repeats_has_one_point_each(tmp_path: Path) -> None:
    rows = [{"step": i, "reward": i + i % 7 / 10, "eval_reward": i // 10, "lr": 0.1} for i in range(200)]
    run = run_of(tmp_path, "metrics.csv", rows)
    assert run.series["eval.reward"].steps.tolist() == list(range(0, 200, 10))
    assert len(run.series["lr"]) == len(run.series["reward.mean"]) == 200
    assert any("eval_reward repeats each value 10 times" in note for note in run.notes)


@pytest.mark.parametrize(
    ("taken", "kept"),
    [
        (lambda i: 0.123456789 + i // 2 * 0.01, 6),
        (lambda i: 0.123456789 + i * 0.01, 11),
        (lambda i: float(3 + i // 2 % 2), 11),  # a clock of whole seconds tells nothing
    ],
)
def test_an_evaluation_is_a_copy_where_the_time_that_it_took_is_one(
    taken: Callable[[int], float], kept: int, tmp_path: Path
) -> None:
    """RLlib's results carry the last evaluation along, in every second row here."""
    rows = [
        {
            "training_iteration": i + 1,
            "env_runners/episode_return_mean": 20.0 + i,
            "num_env_steps_sampled_lifetime": 500 * (i + 1),
            **(
                {"evaluation/env_runners/episode_return_mean": 20.0 + i // 2, "evaluation/env_runners/sample": taken(i)}
                if i
                else {}
            ),
        }
        for i in range(12)
    ]
    run = run_of(tmp_path, "result.json", "".join(json.dumps(row) + "\n" for row in rows))
    assert len(run.series["eval.reward"]) == kept
    assert any("repeat the evaluation of the row before" in note for note in run.notes) is (kept < 11)


def test_equal_measurements_after_each_other_are_kept() -> None:
    values = np.repeat([1, 2, 2, 2, 3, 4, 5, 5, 6, 7, 8, 9, 10], 10)
    kept, every = thinned(curve(values))
    assert (every, kept.values.tolist()) == (10, values[::10].tolist())


@pytest.mark.parametrize(
    "values",
    [
        np.full(200, 0.5),
        np.repeat([0.0, 1.0], 100),
        np.random.default_rng(0).integers(0, 2, 500),
        np.random.default_rng(1).random(500).round(1),
        np.minimum(200, np.arange(300)),
        np.cumsum(np.random.default_rng(2).random(400) < 0.2),
        np.tile([1, 0], 100),
    ],
)
def test_constant_and_irregular_curves_stay_whole(values: np.ndarray) -> None:
    assert thinned(curve(values))[1] == 1


# --- columns of unequal length, points, runs -----------------------------------------------------------------------------


def test_columns_of_unequal_length_are_spread_over_the_longest(tmp_path: Path) -> None:
    run = run_of(
        tmp_path, "history.json", json.dumps({"loss": [1.0] * 100, "reward": list(range(10)), "betas": [0.9, 1]})
    )
    assert run.series["loss.total"].steps.tolist() == list(range(100))
    assert run.series["reward.mean"].values.tolist() == list(range(10))
    assert run.series["reward.mean"].steps.tolist() == list(range(9, 100, 10))


def test_columns_of_unequal_length_are_spread_over_the_steps(tmp_path: Path) -> None:
    history = {"steps": list(range(0, 1000, 10)), "loss": [1.0] * 100, "reward": list(range(10))}
    run = run_of(tmp_path, "history.json", json.dumps(history))
    assert run.series["loss.total"].steps.tolist() == list(range(0, 1000, 10))
    assert run.series["reward.mean"].steps.tolist() == list(range(90, 1000, 100))


def points(shift: float = 0.0) -> dict[str, list[dict[str, float]]]:
    return {name: [{"step": 5 * i, "value": i + shift} for i in range(20)] for name in ("reward", "kl")}


@pytest.mark.parametrize("name", ["metrics.json", "results.json", "curves.json"])
def test_points_by_metric(name: str, tmp_path: Path) -> None:
    tree = {"config": {"lr": 0.1}, "metrics": {**points(), "eval": {"reward": points()["reward"]}}}
    run = run_of(tmp_path, name, json.dumps(tree, indent=1))
    assert (
        run.series["reward.mean"].steps.tolist() == run.series["eval.reward"].steps.tolist() == list(range(0, 100, 5))
    )
    assert run.config.number("learning_rate") == 0.1


SEVERAL = {
    "under a key": {"runs": {"baseline": {"metrics": points()}, "high_lr": {"metrics": points(1)}}},
    "at the top": {"baseline": points(), "high_lr": points(1)},
    "a list": [{"run": "baseline", "metrics": points()}, {"run": "high_lr", "metrics": points(1)}],
}


@pytest.mark.parametrize("form", SEVERAL)
def test_of_several_runs_the_one_that_is_asked_for_is_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    path.write_text(json.dumps(SEVERAL[form]))
    assert json_points.runs(path) == ["baseline", "high_lr"]
    with pytest.raises(Unreadable, match=r"holds 2 runs; choose one of results\.json#baseline, results\.json#high_lr"):
        read(path)
    assert read(f"{path}#high_lr").series["reward.mean"].values[0] == 1
    with pytest.raises(Unreadable, match="holds no run 'other'"):
        read(f"{path}#other")


# --- missing rewards -----------------------------------------------------------------------------------------------------

LOGS = [
    "metrics.jsonl", "metrics.csv", "trainer_state.json", "log.json", "train.log", "pairs.log", "run.ipynb", "log.md",
]  # fmt: skip


def rows(missing: object, lost: Sequence[int], n: int = 100) -> Rows:
    return [{"step": i + 1, "loss": 0.5, "reward": missing if i in lost else i / n, "kl": 0.25} for i in range(n)]


LOST = [i for i in range(100) if i % 5 in (1, 3)]


#: files whose cells are text: in JSON and in a printed dict, None has a form of its own
CELLS = ["metrics.csv", "pairs.log", "run.ipynb", "log.md"]


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        *((name, missing) for name in LOGS for missing in (None, float("nan"), "nan", "NaN")),
        *((name, "None") for name in CELLS),
    ],
)
def test_a_reward_that_is_no_number_is_kept_at_its_step(name: str, missing: object, tmp_path: Path) -> None:
    reward = run_of(tmp_path, name, rows(missing, LOST)).series["reward.mean"]
    assert reward.steps.tolist() == list(range(1, 101))
    assert np.flatnonzero(np.isnan(reward.values)).tolist() == LOST


@pytest.mark.parametrize("name", ["metrics.jsonl", "train.log", "metrics.csv"])
def test_rewards_that_stop_are_kept_as_missing(name: str, tmp_path: Path) -> None:
    reward = run_of(tmp_path, name, rows(None, range(50, 100))).series["reward.mean"]
    assert np.flatnonzero(np.isnan(reward.values)).tolist() == list(range(50, 100))


@pytest.mark.parametrize("name", ["metrics.jsonl", "metrics.csv", "train.log"])
def test_a_run_that_is_followed_keeps_missing_rewards_too(name: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, name, rows(None, LOST))
    lines = (tmp_path / name).read_text().splitlines(keepends=True)
    follower = Follower(tmp_path)
    for end in (2, 3, 40, 41, 101):
        (tmp_path / name).write_text("".join(lines[:end]))
        follower.update()
    reward = follower.run().series["reward.mean"]
    assert np.array_equal(reward.values, run.series["reward.mean"].values, equal_nan=True)


HEALTHY = {
    "an evaluation every tenth row": [
        {"step": i, "loss": 0.5, "reward": i, "eval_reward": i if i % 10 == 0 else None} for i in range(100)
    ],
    "rows of evaluations between those of the training": [
        {"step": i, "loss": 0.5, "reward": i, "eval_reward": None}
        if i % 7
        else {"step": i, "loss": None, "reward": None, "eval_reward": i}
        for i in range(100)
    ],
    "the return of an episode where one ended": [
        {"step": i, "loss": 0.5, "reward": float(i) if i * i % 11 == 3 else None} for i in range(100)
    ],
    "before the first episode": [{"step": i, "loss": 0.5, "reward": i if i > 30 else None} for i in range(100)],
    "every second row": [{"step": i, "loss": 0.5, "reward": i if i % 2 else None} for i in range(100)],
    "a loss that starts later and stops": [
        {"step": i, "reward": i, "value_loss": 0.5 if 20 < i < 60 else None, "loss": 0.5 if i % 5 in (1, 3) else None}
        for i in range(100)
    ],
}


@pytest.mark.parametrize("name", ["metrics.jsonl", "train.log"])
@pytest.mark.parametrize("kind", HEALTHY)
def test_what_was_not_due_is_not_missing(kind: str, name: str, tmp_path: Path) -> None:
    run = run_of(tmp_path, name, HEALTHY[kind])
    assert all(np.isfinite(series.values).all() for series in run.series.values())


def test_a_reward_that_is_never_a_number_is_said(tmp_path: Path) -> None:
    run = run_of(tmp_path, "metrics.jsonl", rows(None, range(100)))
    assert "reward.mean" not in run.series
    assert any("reward is null wherever it was logged (100 rows)" in note for note in run.notes)


def test_inspect_counts_what_is_no_number(tmp_path: Path) -> None:
    said = inspection.renderable(run_of(tmp_path, "metrics.jsonl", rows(None, LOST))).string()
    assert "(100 points, 40 not numbers)" in said
    assert "kl.ref (100 points)" in said
