"""Files that are one JSON document: trainer states and lists of records."""

import json

import pytest

from firstbreak.readers import Recording, Unreadable, json_list, sacred, trainer_state
from firstbreak.readers.read import read as read_run
from tests.readers.files import file_of, points, read, values

STATE = {
    "best_metric": None,
    "epoch": 1.0,
    "global_step": 20,
    "log_history": [
        {"epoch": 0.5, "loss": float("nan"), "reward": 0.25, "step": 10},
        {"epoch": 0.5, "eval_loss": 0.5, "step": 10},
        {"epoch": 1.0, "loss": 0.75, "reward": 0.5, "step": 20},
        {"epoch": 1.0, "step": 20, "train_loss": 0.9, "train_runtime": 100.0},
    ],
    "max_steps": 20,
}

SETS = (("val", 0.9), ("bench", 0.7))


def test_two_evaluation_sets_are_two_curves():
    entries = [
        {"step": 5, f"eval_{name}_loss": 1.0, f"eval_{name}_runtime": 2.0, "eval_accuracy": v} for name, v in SETS
    ]
    recording = read(trainer_state, json.dumps({"log_history": entries}), "trainer_state.json")
    assert points(recording, "eval_val_accuracy") == [(5, 0.9)]
    assert points(recording, "eval_bench_accuracy") == [(5, 0.7)]
    assert points(recording, "eval_bench_loss") == [(5, 1.0)]


def test_the_log_history_is_indexed_by_step():
    recording = read(trainer_state, json.dumps(STATE, indent=2), "trainer_state.json")
    assert recording.indexed_by == "step"
    assert points(recording, "loss") == [(10, "nan"), (20, 0.75)]
    assert points(recording, "eval_loss") == [(10, 0.5)]
    assert recording.config["max_steps"] == 20


def test_what_the_run_has_reached_is_no_setting():
    reached = {"num_input_tokens_seen": 292293, "total_flos": 0.5, "best_global_step": 10, "best_metric": 0.5}
    recording = read(trainer_state, json.dumps({**STATE, **reached}), "trainer_state.json")
    assert recording.config == {"max_steps": 20}


def test_the_summary_is_no_point():
    recording = read(trainer_state, json.dumps(STATE), "checkpoint-20/trainer_state.json")
    assert "train_loss" not in recording.curves
    assert "train_runtime=100.0" in recording.notes[0]


def test_the_longer_history_comes_last():
    early = read(trainer_state, json.dumps({**STATE, "global_step": 500}), "checkpoint-500/trainer_state.json")
    late = read(trainer_state, json.dumps({**STATE, "global_step": 1000}), "checkpoint-1000/trainer_state.json")
    assert early.order < late.order


def test_a_step_beyond_float_does_no_harm():
    text = '{"global_step": 1' + "0" * 400 + ', "log_history": [{"step": 1' + "0" * 400 + ', "loss": 1}]}'
    assert points(read(trainer_state, text, "trainer_state.json"), "loss") == [(float("inf"), 1)]


def test_a_cut_state_keeps_its_whole_entries():
    text = json.dumps(STATE)
    recording = read(trainer_state, text[: text.index('{"epoch": 1.0, "loss"') + 15], "trainer_state.json")
    assert points(recording, "eval_loss") == [(10, 0.5)]
    assert recording.damage == ["cut after entry 2; copy the file again for the rest"]
    assert recording.cut


def test_a_broken_entry_costs_itself_alone():
    text = json.dumps({"log_history": [{"step": i, "loss": i / 2} for i in range(9)]})
    recording = read(trainer_state, text.replace('"step": 4', '"st\0p": 4'), "trainer_state.json")
    assert [step for step, _ in points(recording, "loss")] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert recording.damage == ["left out 1 stretches that are no entry; copy the file again"]
    assert not recording.cut


@pytest.mark.parametrize("text", ["", "{", '{"log_history": [{"st', '{"log_history": 3}', "[]", "{}"])
def test_states_without_history_are_refused(text: str):
    with file_of(text, "trainer_state.json") as path, pytest.raises(Unreadable):
        trainer_state.read(path)


def baseline(*rows: tuple[str, int, float]) -> str:
    return json.dumps([{"Iteration": i, "Value": v, "Agent": a} for a, i, v in rows], indent=1)


def test_agents_and_unlabelled_seeds_are_curves_of_their_own():
    text = baseline(("DQN", 0, 1), ("DQN", 1, 2), ("DQN", 0, 3), ("DQN", 1, 4), ("C51", 0, 5), ("C51", 1, 6))
    recording = read(json_list, text, "pong.json")
    assert recording.indexed_by == "step"
    assert {name: points(recording, name) for name in recording.curves} == {
        "Value[Agent=DQN,seed=0]": [(0, 1), (1, 2)],
        "Value[Agent=DQN,seed=1]": [(0, 3), (1, 4)],
        "Value[Agent=C51,seed=0]": [(0, 5), (1, 6)],
    }


def test_one_agent_and_one_seed_need_no_label():
    recording = read(json_list, baseline(("DQN", 0, 1), ("DQN", 1, 2)), "pong.json")
    assert points(recording, "Value") == [(0, 1), (1, 2)]
    assert recording.config == {"Agent": "DQN"}


def test_a_text_that_hardly_returns_tells_no_curves_apart():
    rows = [{"step": i, "avg_reward": i / 2, "timestamp": f"2026-04-18T21:3{i}:00"} for i in range(6)]
    recording = read(json_list, json.dumps(rows), "training_log.json")
    assert points(recording, "avg_reward") == [(i, i / 2) for i in range(6)]


def test_a_history_saved_as_columns():
    history = {"step": [10, 20, 30], "reward": [0.5, None, 0.75], "betas": [0.9, 0.99], "model": "small"}
    recording = read(json_list, json.dumps(history, indent=1), "train_history.json")
    assert recording.indexed_by == "step"
    assert points(recording, "reward") == [(10, 0.5), (30, 0.75)]
    assert set(recording.curves) == {"reward"}


def test_a_history_that_holds_its_records_beside_other_things():
    rows = [{"step": i, "loss": 1 / i, "kl": i} for i in (1, 2, 3)]
    history = {"lr": [{"step": 1, "lr": 0.1}], "eval": [], "raw_log_history": rows, "meta": {"seed": 1}}
    assert points(read(json_list, json.dumps(history), "dpo_history.json"), "kl") == [(1, 1), (2, 2), (3, 3)]


@pytest.mark.parametrize(
    ("name", "text", "claimed"),
    [
        ("train_history.json", '{"reward": [0.5, 1]}', True),
        ("model.json", '{"reward": [0.5, 1]}', False),
        ("train_history.json", '{"model": "small", "lr": 0.1}', False),
        ("pong.json", '[{"a": 1}]', True),
    ],
)
def test_an_object_is_a_history_by_its_name_and_its_lists(name: str, text: str, claimed: bool):
    with file_of(text, name) as path:
        assert json_list.sniff(path, text.encode()) is claimed


def test_columns_beside_records_of_the_same_rows_are_kept():
    text = json.dumps(
        {"rewards": [1.0, 2.0, 3.0], "episodes": [{"length": 5 * i} for i in range(3)], "loss": [3.0, 2.0, 1.0]}
    )
    recording = read(json_list, text, "training_log.json")
    assert points(recording, "rewards") == [(0, 1.0), (1, 2.0), (2, 3.0)]
    assert points(recording, "length") == [(0, 0), (1, 5), (2, 10)]


def test_a_list_without_an_axis_is_indexed_by_row():
    recording = read(json_list, '[{"loss": NaN}, {"loss": 2}]', "log.json")
    assert recording.indexed_by == "row"
    assert points(recording, "loss") == [(0, "nan"), (1, 2)]


def test_steps_beyond_float_do_no_harm():
    text = '[{"step": 1' + "0" * 400 + ', "loss": 1}]'
    assert points(read(json_list, text, "log.json"), "loss") == [(float("inf"), 1)]


def test_a_summary_of_wandb_is_read_where_it_stands_alone(tmp_path):
    path = tmp_path / "wandb-summary.json"
    path.write_text('{"loss": 0.5, "train": {"reward": 2.5}, "_step": 7, "_runtime": 9, "_timestamp": 1714026764}')
    assert json_list.sniff(path, path.read_bytes())
    assert points(json_list.read(path), "train/reward") == [(7, 2.5)]
    (tmp_path / "output.log").write_text("loss=0.5\n")
    assert not json_list.sniff(path, path.read_bytes())


def test_a_cut_list_keeps_its_whole_records():
    recording = read(json_list, '[{"step": 1, "loss": 3}, {"step": 2, "loss": 2}, {"step": 3, "lo', "log.json")
    assert values(recording, "loss") == [3, 2]
    assert recording.damage == ["cut after record 2; copy the file again for the rest"]


@pytest.mark.parametrize("text", ["[{", "[]", "[1, 2]", "[" * 100_000, "", "{}", '{"a": [1, 2]}', '{"a": [1, 2, 3'])
def test_lists_without_records_are_refused(text: str):
    with file_of(text, "log.json") as path, pytest.raises(Unreadable):
        json_list.read(path)


NUMPY = {"dtype": "float64", "py/object": "numpy.float64", "value": -50.5}


def of_sacred(data: str, name: str) -> Recording:
    with file_of(data, name) as path:
        path.with_name("run.json").write_text("{}")
        assert sacred.sniff(path, data.encode())
        return sacred.read(path)


def test_pymarl_keeps_values_and_steps_in_two_lists():
    info = {"return_mean": [NUMPY, -40.0, -30.0], "return_mean_T": [200, 400], "alone": [1, 2]}
    recording = of_sacred(json.dumps(info), "info.json")
    assert recording.indexed_by == "step"
    assert points(recording, "return_mean") == [(200, -50.5), (400, -40.0)]  # stopped between the two lists
    assert list(recording.curves) == ["return_mean"]


def test_sacred_keeps_three_lists_per_metric():
    metric = {"steps": [45, 5076], "timestamps": ["2023-10-26T11:26:41.000500", "?"], "values": [NUMPY, None]}
    recording = of_sacred(json.dumps({"test_return_mean": metric}), "metrics.json")
    assert points(recording, "test_return_mean") == [(45, -50.5)]


def test_times_are_in_utc():
    metric = {"steps": [1], "timestamps": ["1970-01-02T00:00:00"], "values": [1]}
    times = of_sacred(json.dumps({"loss": metric}), "metrics.json").curves["loss"].times
    assert times is not None
    assert times.tolist() == [86400.0]


def test_only_what_stands_beside_run_json_is_of_sacred(tmp_path):
    path = tmp_path / "metrics.json"
    assert not sacred.sniff(path, b'{"loss": {"steps": [')
    path.with_name("run.json").write_text("{}")
    assert sacred.sniff(path, b'{"loss": {"steps": [')


def test_a_file_of_sacred_that_is_cut_says_so():
    with pytest.raises(Unreadable, match="cut off"):
        of_sacred('{"loss": {"steps": [1', "metrics.json")


def test_environment_steps_are_the_axis_of_a_list():
    records = [{"env_step": step, "rew": step / 1000, "Agent": agent} for agent in ("a", "b") for step in (0, 5000)]
    assert points(read(json_list, json.dumps(records), "result.json"), "rew[Agent=b]") == [(0, 0.0), (5000, 5.0)]


def test_lists_of_other_numbers_on_one_axis_are_read_together():
    losses = [{"step": 10 * i, "critic_loss": 1.0 / i} for i in range(1, 21)]
    scores = [{"step": 50 * i, "mean_return": float(i)} for i in range(1, 5)]
    recording = read(json_list, json.dumps({"eval_history": scores, "loss_history": losses}), "training_log.json")
    assert points(recording, "eval/mean_return") == [(50, 1.0), (100, 2.0), (150, 3.0), (200, 4.0)]
    assert len(points(recording, "critic_loss")) == 20


def test_splits_of_one_file_keep_every_name(tmp_path):
    rows = [{"episode": i, "score": i, "reward": -10.0 * i, "steps": 40 + i % 3, "epsilon": 0.5} for i in range(20)]
    held = [{"episode": i, "mean_score": i + 0.5, "mean_reward": i + 1.5} for i in (0, 10, 20)]
    history = {"config": {"seed": 42}, "training": rows, "validation": held, "test": held[-1:]}
    (tmp_path / "training_metrics.json").write_text(json.dumps(history))
    run = read_run(tmp_path)
    assert (run.axis, run.config.values["seed"]) == ("episode", 42)
    assert {name: run.series[name].raw for name in ("reward.mean", "episode.length", "eval.reward")} == {
        "reward.mean": "reward", "episode.length": "steps", "eval.reward": "validation/mean_reward",
    }  # fmt: skip
    assert {"validation/mean_score", "test/mean_reward", "test/mean_score"} <= set(run.unknown)
    assert run.series["score.mean"].raw == "score"
    assert not run.duplicates


def test_columns_and_rows_that_lie_deeper_are_one_run(tmp_path):
    history = [{"episode": i, "mean_reward": i / 2, "solved_rate": 0.5} for i in (5, 10)]
    columns = {"episodes": [*range(1, 11)], "episode_rewards": [i + 0.5 for i in range(10)], "seed": 7}
    whole = columns | {"validation": {"best_val_mean_reward": 9.0, "history": history}}
    (tmp_path / "training_metrics.json").write_text(json.dumps(whole))
    run = read_run(tmp_path)
    assert run.series["reward.mean"].values.tolist() == columns["episode_rewards"]
    assert run.series["eval.reward"].steps.tolist() == [5, 10]
    assert run.series["eval.success_rate"].values.tolist() == [0.5, 0.5]
    assert run.config.values["seed"] == 7
