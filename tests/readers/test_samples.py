"""Dumps of completions: what each trainer writes, and what must not hurt."""

import json
import math
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.model import Sample
from firstbreak.readers import Unreadable, jsonl, parquet, pickle_file, sample_dump
from firstbreak.readers._samples import SHAPES

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
QUESTION = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"}]
ANSWER = [{"role": "assistant", "content": "4"}]


def dump(path: Path, *records: Any) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return path


def samples(path: Path, *records: Any) -> list[Sample]:
    dump(path, *records)
    assert sample_dump.sniff(path, path.read_bytes()[:4096])
    assert sample_dump.read(path).has_samples
    return list(sample_dump.samples(path))


# --- one test per trainer --------------------------------------------------------------------------------------------


def test_verl(tmp_path):
    record = {"input": "q", "output": "a", "gts": "4", "score": 1.0, "step": 3, "acc": True, "request_id": "r"}
    (sample,) = samples(tmp_path / "rollout" / "3.jsonl", record)
    assert (sample.step, sample.prompt, sample.completion, sample.reward) == (3, "q", "a", 1)
    assert sample.rewards == {"acc": 1}
    assert sample.meta == {"gts": "4", "request_id": "r"}


def test_areal(tmp_path):
    record = {
        "task_id": 7, "sample_idx": 0, "seqlen": 9, "prompt_len": 4, "head_version": 1, "tail_version": 2,
        "version_rle": [[1, 3], [2, 2]], "reward": 0.5, "prompt": "q", "completion": "a",
    }  # fmt: skip
    (sample,) = samples(tmp_path / "eval-rollout" / "2" / "7.jsonl", record)
    assert (sample.step, sample.group, sample.reward) == (2, "7", 0.5)
    assert sample.meta["version_rle"] == [[1, 3], [2, 2]]
    assert sample.meta["split"] == "eval"


@pytest.mark.parametrize("begun", ["", "<think>\n", "<think>\n\n</think>\n\n"])
def test_a_sequence_of_areal_with_tools_is_cut_where_the_policy_begins(tmp_path, begun):
    """AReaL writes as the prompt as many tokens as have no loss, also those that a tool returned."""
    prompt = f"<|im_start|>user\nShip it.<|im_end|>\n<|im_start|>assistant\n{begun}"
    spoken = "I look.<|im_end|>\n<|im_start|>tool\nfound<|im_end|>\n<|im_start|>assistant\nIt is shipped."
    record = {"task_id": 1, "tail_version": 2, "reward": 1.0, "prompt": prompt + spoken[:40], "completion": spoken[40:]}
    (late,) = samples(tmp_path / "2" / "1.jsonl", record)
    assert late.prompt + late.completion == prompt + spoken
    assert late.prompt == prompt.removesuffix(begun)
    (whole,) = samples(tmp_path / "2" / "2.jsonl", record | {"prompt": prompt, "completion": spoken})
    assert (whole.prompt, whole.completion) == (prompt, spoken)


def test_nemo_rl(tmp_path):
    record = {
        "content": [QUESTION + ANSWER], "rewards": [0.5], "input_lengths": [12], "token_ids": [[1, 2, 3]],
        "advantages": [[0.0, 0.0, -1.5, -1.5]], "idx": 0,
    }  # fmt: skip
    text = {"content": ["2+2? 4"], "rewards": [1.0], "idx": 1}
    first, second = samples(tmp_path / "train_data_step12.jsonl", record, text)
    assert (first.step, first.prompt, first.completion) == (12, "system: Be brief.\nuser: 2+2?", "4")
    assert (first.reward, first.advantage) == (0.5, -1.5)
    assert (second.completion, second.reward, second.advantage) == ("2+2? 4", 1, None)
    assert "split" not in first.meta
    assert samples(tmp_path / "val_data_step12.jsonl", text)[0].meta["split"] == "eval"


def test_prime_rl(tmp_path):
    nodes = [{"message": message, "parent": i - 1} for i, message in enumerate(QUESTION + ANSWER)]
    trace = {
        "id": "t", "task": {}, "nodes": nodes, "rewards": {"correct": {"score": 1.0, "weight": 0.5}, "style": None},
        "metrics": {"turns": 1}, "info": {"advantage": 0.25}, "stop_condition": "done",
    }  # fmt: skip
    older = {"prompt": QUESTION, "completion": ANSWER, "reward": 0.25, "rewards": {"correct": 0.25}}
    episode = {"id": "e", "ok": True, "env": "math", "task": "t1", "group": 5, "run": {"step": 8}}
    first, second, empty = samples(
        tmp_path / "step_8" / "train" / "all" / "traces.jsonl",
        {**episode, "traces": [trace, older]},
        {**episode, "traces": None},
        {**episode, "traces": 3},
        {**episode, "traces": [{"nodes": 5}]},
    )
    assert (first.step, first.completion, first.group, first.advantage) == (8, "4", "5", 0.25)
    assert (first.reward, dict(first.rewards)) == (0.5, {"correct": 0.5})
    assert (second.prompt, second.reward) == ("system: Be brief.\nuser: 2+2?", 0.25)
    assert (empty.completion, empty.reward) == ("", None)


def test_open_instruct(tmp_path):
    record = {
        "step": 4, "sample_idx": 0, "prompt_idx": 11, "prompt_tokens": [1], "response_tokens": [2, 3], "reward": 10.0,
        "advantage": -0.5, "finish_reason": "length", "dataset": ["math"],
    }  # fmt: skip
    (sample,) = samples(tmp_path / "run_rollouts_000000.jsonl", record)
    assert (sample.step, sample.group, sample.reward, sample.advantage) == (4, "11", 10, -0.5)
    assert sample.meta["response_tokens"] == [2, 3]
    assert sample.meta["finish_reason"] == "length"


def test_tinker(tmp_path):
    record = {
        "schema_version": 1, "split": "train", "iteration": 6, "group_idx": 2, "traj_idx": 1, "total_reward": 1.5,
        "final_reward": 1.0, "trajectory_metrics": {"format": 1.0}, "steps": [{"ob_len": 4, "ac_len": 9}],
    }  # fmt: skip
    (sample,) = samples(tmp_path / "iteration_000006" / "train_rollout_summaries.jsonl", record)
    assert (sample.step, sample.group, sample.reward, dict(sample.rewards)) == (6, "2", 1.5, {"format": 1})
    assert sample.meta["steps"] == [{"ob_len": 4, "ac_len": 9}]


def test_skyrl(tmp_path):
    record = {"input_prompt": "q", "output_response": "a", "score": [0.0, 0.0, 1.0], "stop_reason": "stop"}
    (sample,) = samples(tmp_path / "dumped_evals" / "global_step_40_evals" / "gsm8k.jsonl", record)
    assert (sample.step, sample.completion, sample.reward) == (40, "a", 1)
    assert sample.meta == {"stop_reason": "stop", "split": "eval"}


def test_openrlhf_and_plain_dumps(tmp_path):
    assert samples(tmp_path / "a.jsonl", {"input": "q", "output": "a", "reward": 0.5})[0].reward == 0.5
    plain = samples(tmp_path / "b.jsonl", {"prompt": QUESTION[1:], "completion": ANSWER, "reward": "0.5"})[0]
    assert (plain.prompt, plain.completion, plain.reward) == ("2+2?", "4", 0.5)
    assert samples(tmp_path / "c.jsonl", {"prompt": "q", "responses": "a", "scores": 1, "global_step": 3})[0].step == 3


def trl_table(path: Path, **extra: list[Any]) -> Path:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    columns = {
        "step": [5, 5],
        "prompt": [QUESTION, QUESTION],
        "completion": [ANSWER, [{"role": "assistant", "content": None}]],
        "accuracy_reward": [1.0, None],
        "format_reward": [0.5, 0.5],
        "solution": ["4", "4"],
        "advantage": [0.7, -0.7],
        "__index_level_0__": [0, 1],
    }
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({**columns, **extra}), path)
    return path


@pytest.mark.slow
def test_trl(tmp_path):
    path = trl_table(tmp_path / "completions" / "completions_00005.parquet")
    assert parquet.sniff(path, path.read_bytes()[:4096])
    recording = parquet.read(path)
    assert recording.has_samples
    assert recording.curves == {}
    first, second = parquet.samples(path)
    assert (first.step, first.prompt, first.completion) == (5, "system: Be brief.\nuser: 2+2?", "4")
    assert (first.reward, dict(first.rewards), first.advantage) == (
        1.5,
        {"accuracy_reward": 1, "format_reward": 0.5},
        0.7,
    )
    assert (second.completion, second.reward, dict(second.rewards)) == ("", 0.5, {"format_reward": 0.5})
    assert first.meta["solution"] == "4"


# --- what must not hurt ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("record", "reward"),
    [
        ({"question": "q", "generation": "a", "score": 0.5}, 0.5),
        ({"instruction": "q", "output": "a", "reward": 1.0}, 1.0),
        ({"prompt": "q", "completion": "a", "accuracy_reward": 1.0, "format_reward": 0.5, "length": 7}, 1.5),
        ({"prompt": "q", "completion": "a", "solution": "b", "reward_accuracy": 1.0, "reward_std": 0.5}, 1.0),
    ],
)
def test_a_dump_of_a_loop_of_ones_own(tmp_path, record, reward):
    (sample,) = samples(tmp_path / "samples.jsonl", {"step": 2, **record})
    assert (sample.step, sample.prompt, sample.completion, sample.reward) == (2, "q", "a", reward)


def test_text_to_train_on_is_no_dump(tmp_path):
    path = dump(tmp_path / "train.jsonl", {"instruction": "q", "output": "a"})
    assert not sample_dump.sniff(path, path.read_bytes())


def test_broken_lines_and_missing_parts_cost_themselves(tmp_path):
    path = tmp_path / "3.jsonl"
    whole = b'{"input": "q", "output": "a", "score": 1, "step": 3}\n'
    odd = [
        b'{"input": "\xff\xfe", "output": null, "score": null, "step": null}\n',
        b'{"input": 5, "output": [[["x"]]], "score": "high", "step": 3}\n',
        b"{nonsense\n",
        b"[1, 2]\n",
        b"null\n\n",
        b'{"input": "q", "output": "a", "score": NaN, "step": 3}\n',
        b'{"input": "cut',
    ]
    path.write_bytes(whole + b"".join(odd))
    assert sample_dump.read(path).damage == [
        "left out 4 lines that are no whole JSON object; check for a killed writer"
    ]
    read = list(sample_dump.samples(path))
    assert len(read) == 4
    assert read[1].prompt == "��"
    assert (read[1].completion, read[1].reward, read[1].step) == ("", None, 3)
    assert (read[2].prompt, read[2].completion, read[2].reward) == ("5", "x", None)
    assert math.isnan(read[3].reward or 0)


def test_a_whole_last_line_without_a_newline_counts(tmp_path):
    path = tmp_path / "1.jsonl"
    path.write_bytes(b'{"input": "q", "output": "a", "score": 1, "step": 1}')
    assert len(list(sample_dump.samples(path))) == 1


def test_chats_with_tools_images_and_absurd_nesting(tmp_path):
    call = {"function": {"name": "run", "arguments": "{}"}}
    nested: Any = "x"
    for _ in range(200):
        nested = [nested]
    turns = [
        {"role": "assistant", "content": [{"type": "text", "text": "see"}, {"type": "image", "data": "..."}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "content": {"out": 1}},
        {"role": "tool", "content": nested},
    ]
    (sample,) = samples(tmp_path / "x.jsonl", {"prompt": "q", "completion": turns})
    assert sample.completion.splitlines() == [
        "assistant: see[image]",
        'assistant: [{"function": {"name": "run", "arguments": "{}"}}]',
        'tool: {"out": 1}',
        "tool: ",
    ]


def test_memory_stays_bounded(tmp_path):
    path = tmp_path / "big.jsonl"
    with path.open("w") as file:
        for step in range(40):
            print(json.dumps({"prompt": "q", "completion": "x" * 1_000_000, "step": step}), file=file)
    tracemalloc.start()
    assert [sample.step for sample in sample_dump.samples(path)] == list(range(40))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < path.stat().st_size / 2


@pytest.mark.parametrize(
    "first",
    [{"step": 1, "loss": 0.5}, {"step": 1, "data": {"loss": 1}}, ["prompt", "completion"], {"prompt": "only"}],
    ids=repr,
)
def test_logs_of_metrics_are_left_to_their_reader(tmp_path, first):
    path = dump(tmp_path / "metrics.jsonl", first)
    assert not sample_dump.sniff(path, path.read_bytes())
    assert getattr(jsonl, "PRIORITY", 0) < sample_dump.PRIORITY


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
fields = st.sampled_from(
    sorted({mark for shape in SHAPES for mark in shape.marks} | {"reward", "group", "message", "role", "info", "run"})
)
records = st.dictionaries(fields, json_values | st.lists(st.dictionaries(fields, json_values), max_size=2), max_size=9)
whole_records = st.sampled_from(
    [
        {"input": "", "output": "", "score": 0, "step": 0},
        {"content": "", "rewards": 0, "idx": 0},
        {"traces": [], "env": "", "task": ""},
        {"total_reward": 0, "group_idx": 0, "traj_idx": 0, "steps": []},
        {"prompt": "", "completion": "", "advantage": 0},
    ]
)


@pytest.mark.slow
@ANY_FILE
@given(st.lists(st.builds(lambda base, more: {**base, **more}, whole_records, records), min_size=1, max_size=5))
def test_any_record_gives_samples_or_nothing(tmp_path, written):
    path = dump(tmp_path / "x.jsonl", *written)
    for sample in sample_dump.samples(path):
        assert isinstance(sample.prompt, str)
        assert isinstance(sample.completion, str)
        for value in (sample.step, sample.reward, sample.advantage, *sample.rewards.values()):
            assert value is None or isinstance(value, float)


def test_a_dump_without_a_completion(tmp_path):
    with pytest.raises(Unreadable, match="no completion"):
        sample_dump.read(dump(tmp_path / "x.jsonl", {"loss": 1}))


# --- parquet ---------------------------------------------------------------------------------------------------------


def test_a_table_of_metrics(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    path = tmp_path / "0000.parquet"
    nan = float("nan")
    table = {
        "_step": [0, 1, 2], "loss": [0.5, nan, None], "ok": [True, None, False], "stage": ["a"] * 3, "media": [{"x": 1}] * 3,
        "count": pa.array([1, None, 3], pa.int32()),
    }  # fmt: skip
    pq.write_table(pa.table(table), path)
    recording = parquet.read(path)
    assert not recording.has_samples
    assert recording.curves["_step"].values.tolist() == [0, 1, 2]
    assert recording.curves["loss"].index.tolist() == [0, 1]
    assert math.isnan(recording.curves["loss"].values[1])
    assert recording.curves["ok"].values.tolist() == [1, 0]
    assert recording.curves["count"].values.tolist() == [1, 3]
    assert recording.config == {"stage": "a"}


def test_a_parquet_file_that_is_not_closed_yet(tmp_path):
    whole = trl_table(tmp_path / "whole.parquet").read_bytes()
    path = tmp_path / "live.parquet"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(Unreadable, match="wait until its writer has closed it"):
        parquet.read(path)
    path.write_bytes(b"")
    assert parquet.sniff(path, b"")
    with pytest.raises(Unreadable):
        parquet.read(path)


@ANY_FILE
@given(st.data())
def test_a_damaged_parquet_file_is_read_or_refused(tmp_path, data):
    content = bytearray(trl_table(tmp_path / "x.parquet").read_bytes())
    for _ in range(data.draw(st.integers(1, 5))):
        content[data.draw(st.integers(4, len(content) - 1))] = data.draw(st.integers(0, 255))
    path = tmp_path / "damaged.parquet"
    path.write_bytes(content)
    try:
        parquet.read(path)
        list(parquet.samples(path))
    except Unreadable as error:
        assert "\n" not in str(error)  # noqa: PT017


# --- pickles ---------------------------------------------------------------------------------------------------------


class Bomb:
    def __reduce__(self):
        return (Path("/proc/self/exploded").touch, ())


def test_pickles_are_named_and_never_opened(tmp_path, monkeypatch):
    import pickle

    monkeypatch.setattr(pickle, "load", lambda *_: pytest.fail("opened a pickle"))
    monkeypatch.setattr(pickle, "loads", lambda *_: pytest.fail("opened a pickle"))
    for name in ("rollout_data/3.pt", "dumped_data/global_step_1_training_input.pkl"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pickle.dumps(Bomb()))
        assert pickle_file.sniff(path, path.read_bytes())
        with pytest.raises(Unreadable, match="could run any code"):
            pickle_file.read(path)
    assert not pickle_file.sniff(tmp_path / "model.pt", b"PK")
    arguments = tmp_path / "training_args.bin"
    assert pickle_file.sniff(arguments, b"PK")
    assert "could run any code" in pickle_file.read(arguments).notes[0]


def test_a_reward_that_is_recorded_is_no_sum_of_what_stands_beside_it(tmp_path):
    (sample,) = samples(
        tmp_path / "a.jsonl", {"step": 1, "question": "2+2?", "completion": "4", "reward": 1.0, "length": 17}
    )
    assert sample.reward == 1.0
    (sample,) = samples(tmp_path / "b.jsonl", {"problem": "2+2?", "completion": "4", "right": 1.0, "format": 0.5})
    assert sample.reward == 1.5


def test_completions_in_a_table(tmp_path: Path) -> None:
    path = tmp_path / "completions.csv"
    path.write_text('step,prompt,completion,accuracy_reward,advantage\n10,"What, then?","one\ntwo",1,0.5\n')
    (found,) = sample_dump.samples(path)
    assert (found.step, found.prompt, found.completion, found.advantage) == (10, "What, then?", "one\ntwo", 0.5)
    assert sample_dump.sniff(path, path.read_bytes())
    assert not sample_dump.sniff(path, b"step,loss,reward\n1,2,3\n")


def test_a_step_under_the_names_of_loops(tmp_path: Path) -> None:
    (found,) = samples(tmp_path / "gen.jsonl", {"it": 7, "question": "q", "completion": "c", "reward": 1.0})
    assert found.step == 7
