"""What trainers print."""

import math
from pathlib import Path

import numpy as np
import pytest

from firstbreak.readers import Unreadable, console
from firstbreak.readers.console import Console, pairs
from firstbreak.readers.read import read as read_run
from tests.readers.files import file_of, points, read, values


def test_hf_dicts_without_a_step_are_numbered():
    text = (
        "  0%|          | 0/20 [00:00<?, ?it/s]\r"
        "{'loss': '0.01', 'reward': 1.5, 'epoch': '0.1'}\n"
        " 50%|█████     | 10/20 [00:30<00:30,  3.0s/it]\n"
        "{'loss': nan, 'reward': 2.5, 'epoch': 0.2}\n"
        "{'eval_loss': 0.5, 'epoch': 0.2}\n"
        "{'train_runtime': 60.0, 'train_loss': 0.3, 'epoch': 1.0}\n"
    )
    recording = read(console, text, "train.log")
    assert recording.indexed_by == "row"
    assert points(recording, "loss") == [(0, 0.01), (1, "nan")]
    assert points(recording, "reward") == [(0, 1.5), (1, 2.5)]
    assert points(recording, "eval_loss") == [(2, 0.5)]
    assert "train_loss" not in recording.curves


def test_dicts_that_a_terminal_has_wrapped_are_rows():
    rows = [
        {"loss": 0.25, "rewards/format/mean": -0.725, "completions/mean_length": 384.0, "epoch": i} for i in range(3)
    ]
    lines = [text[at : at + 70] for text in map(str, rows) for at in range(0, len(text), 70)]
    recording = read(console, "\n".join(["Loading the model", *lines, "done", ""]), "train.log")
    assert points(recording, "rewards/format/mean") == [(0, -0.725), (1, -0.725), (2, -0.725)]
    assert points(recording, "epoch") == [(0, 0), (1, 1), (2, 2)]


def test_a_step_of_the_script_is_none_of_the_training(tmp_path: Path):
    rows = "".join(f"{{'loss': 0.5, 'reward': {i / 50}, 'epoch': {i / 10}}}\n" for i in range(20))
    (tmp_path / "train.log").write_text(f"[Step 3/6] Loading the model (LoRA r=16)...\n{rows}")
    reward = read_run(tmp_path).series["reward.mean"]
    assert len(np.unique(reward.steps)) == 20


def test_verl_lines_from_ray_in_colours():
    text = (
        "\x1b[36m(TaskRunner pid=12)\x1b[0m step:1 - actor/pg_loss:-1e-05 - critic/score/mean:np.float64(0.4) - a:nan\n"
        "\x1b[36m(TaskRunner pid=12, ip=10.0.0.1)\x1b[0m step:2 - actor/pg_loss:0.5 - critic/score/mean:inf\n"
    )
    recording = read(console, text, "run.log")
    assert recording.indexed_by == "step"
    assert points(recording, "actor/pg_loss") == [(1, -1e-05), (2, 0.5)]
    assert points(recording, "critic/score/mean") == [(1, 0.4), (2, math.inf)]
    assert points(recording, "a") == [(1, "nan")]


def test_a_learning_rate_that_verl_has_rounded_away_is_left_out():
    text = "step:1 - actor/lr:0.000 - actor/ppo_kl:0.000\nstep:2 - actor/lr:0.0 - actor/ppo_kl:0.001\n"
    recording = read(console, text, "run.log")
    assert points(recording, "actor/lr") == [(2, 0.0)]
    assert points(recording, "actor/ppo_kl") == [(1, 0.0), (2, 0.001)]


def test_stable_baselines3_tables():
    text = """Using cpu device
---------------------------------
| rollout/           |          |
|    ep_rew_mean     | 21.8     |
| time/              |          |
|    total_timesteps | 2048     |
---------------------------------
-----------------------------------------
| time/                   |             |
|    total_timesteps      | 4096        |
| train/                  |             |
|    explained_variance   | -0.00213    |
|    approx_kl            | 8.27e-03    |
-----------------------------------------
"""
    recording = read(console, text, "sb3.log")
    assert recording.indexed_by == "row"
    assert points(recording, "rollout/ep_rew_mean") == [(0, 21.8)]
    assert points(recording, "time/total_timesteps") == [(0, 2048), (1, 4096)]
    assert points(recording, "train/approx_kl") == [(1, 0.00827)]


def test_areal_tables_belong_to_the_step_before_them():
    text = """(AReaL) 20260206-15:38:30.123 StatsLogger INFO: Epoch 1/10 Step 3/100 Train step 3/1000 done.
(AReaL) 20260206-15:38:30.124 StatsLogger INFO: Stats (1/1):
╒════════════════════╤════════════╤══════════════════╤═════════════╕
│ ppo_actor/loss/avg │ 1.0000e-02 │ ppo_actor/kl/avg │ -2.0000e-03 │
├────────────────────┼────────────┼──────────────────┼─────────────┤
│ rollout/reward     │ nan        │ a@b/c            │ 5.0000e+00  │
╘════════════════════╧════════════╧══════════════════╧═════════════╛
"""
    recording = read(console, text, "main.log")
    assert {name: points(recording, name) for name in recording.curves} == {
        "ppo_actor/loss/avg": [(3, 0.01)],
        "ppo_actor/kl/avg": [(3, -0.002)],
        "rollout/reward": [(3, "nan")],
        "a@b/c": [(3, 5)],
    }


def test_nemo_rl_results_belong_to_the_step_before_them():
    text = """========================= Step 12/1000 =========================
▶ Preparing batch...
📊 Training Results:
  • Loss: 0.0123
  • Generation KL Error: 0.0009
  • Total step time: 35.20s
📊 Validation Results:
    • Accuracy: 0.51
========================= Step 13/1000 =========================
📊 Training Results:
  • Loss: -1e-3
"""
    recording = read(console, text, "run.log")
    assert points(recording, "Loss") == [(12, 0.0123), (13, -0.001)]
    assert points(recording, "Generation KL Error") == [(12, 0.0009)]
    assert points(recording, "Total step time") == [(12, 35.2)]
    assert points(recording, "eval/Accuracy") == [(12, 0.51)]


def test_prime_rl_lines():
    text = (
        "10:00:00 SUCCESS Step 12 | 35.20s | Reward 0.4321 | Trainable 96/128 (75.0%) | Truncation 3.1%\n"
        "Step 13 | 30s | Loss 0.01 | Mismatch KL 0.0010 | Grad. Norm 0.12 | LR 1.00e-06 | Throughput 12000 tokens/s\n"
        "Evaluated gsm8k (Step 10) | Policy v10 | 12s | Reward 0.51\n"
    )
    recording = read(console, text, "orchestrator.log")
    assert points(recording, "Reward") == [(12, 0.4321)]
    assert points(recording, "Trainable") == [(12, 0.75)]
    assert points(recording, "Truncation") == [(12, pytest.approx(0.031))]
    assert points(recording, "Mismatch KL") == [(13, 0.001)]
    assert points(recording, "Grad. Norm") == [(13, 0.12)]
    assert points(recording, "LR") == [(13, 1e-6)]
    assert points(recording, "Throughput") == [(13, 12000)]
    assert points(recording, "eval/gsm8k/Reward") == [(10, 0.51)]


@pytest.mark.parametrize(
    ("line", "name", "point"),
    [
        (
            "[2026-08-21 10:00:00] model.py:904 - step 12: {'train/loss': np.float64(0.5), 'k': nan}",
            "train/loss",
            (12, 0.5),
        ),
        ("[2026-08-21 10:00:00] data.py:80 - rollout 3: {'rollout/raw_reward': 0.25}", "rollout/raw_reward", (3, 0.25)),
        ("INFO 08-13 10:00:00 ppo.py:547] ✨ Global step 7: {'policy_loss': inf}", "policy_loss", (7, math.inf)),
        ("Eval at step 12: {'eval_acc': tensor(0.5, device='cuda:0')}", "eval_acc", (12, 0.5)),
        ("global_step 12, eval_metrics: {'pass1': 0.5}", "pass1", (12, 0.5)),
        ('metrics_tag: {"step": 5, "metrics": {"critic/score/mean": 0.5, "x": NaN}}', "critic/score/mean", (5, 0.5)),
        ("Step 12: \n{'policy/loss': '0.1234',\n 'policy/kl': '0.0000'}", "policy/loss", (12, 0.1234)),
        ("Step 12: \n{'policy/loss': '0.1234',\n 'policy/kl': '0.5'}", "policy/kl", (12, 0.5)),
        ("{'step': 4, 'loss': 0.5}", "loss", (4, 0.5)),
    ],
)
def test_dicts_with_a_step(line: str, name: str, point: tuple[float, float]):
    recording = read(console, line + "\n", "run.log")
    assert recording.indexed_by == "step"
    assert points(recording, name) == [point]


def test_panels_and_titled_tables():
    text = """          Step 7
┏━━━━━━━━━━━━━┳━━━━━━━━━━┓
┃ Metric      ┃ Value    ┃
┡━━━━━━━━━━━━━╇━━━━━━━━━━┩
│ reward/mean │ 0.123456 │
└─────────────┴──────────┘
╭──────────────────── Metrics ─────────────────────╮
│ objective │ verifiable_reward: 0.41 | kl2_avg: 0 │
│ other     │ episode: 12                          │
╰──────────────────────────────────────────────────╯
"""
    recording = read(console, text, "run.log")
    assert points(recording, "reward/mean") == [(7, 0.123456)]
    assert points(recording, "objective/verifiable_reward") == [(7, 0.41)]
    assert points(recording, "objective/kl2_avg") == [(7, 0)]
    assert points(recording, "episode") == [(7, 12)]


def test_a_table_with_a_header():
    text = "| Step | Loss | Note |\n|------|------|------|\n| 10 | 0.5 | 1 |\n| 20 | nan | 2 |\n"
    recording = read(console, text, "run.log")
    assert values(recording, "Step") == [10, 20]
    assert values(recording, "Loss") == [0.5, "nan"]


def test_a_table_copied_from_a_notebook_into_an_issue():
    text = "Step | Training Loss | reward | kl\n-- | -- | -- | --\n1 | 0.5 | -17.25 | nan\n2 | 0.25 | -10.5 | No Log\n"
    recording = read(console, text, "log.txt")
    assert values(recording, "Step") == [1, 2]
    assert values(recording, "reward") == [-17.25, -10.5]
    assert values(recording, "kl") == ["nan"]


def test_lines_between_bars_are_no_table():
    text = "INFO | trainer | start\n2026-01-01 | INFO | episode: 1, reward: 2.5\nINFO | trainer | episode: 2, reward: 3.5\n"
    assert values(read(console, text, "run.log"), "reward") == [2.5, 3.5]


def test_progress_bars_that_start_again_go_on_counting():
    bar = "Train epoch [{}/2]:  12%|█▏  | {}/16 [00:30<03:40,  2.5s/it, act_loss={}, kl=nan]"
    text = "\r".join([bar.format(1, 15, 0.5), bar.format(1, 16, 0.25), bar.format(2, 1, 0.125)])
    recording = read(console, text + "\n", "train.log")
    assert points(recording, "act_loss") == [(15, 0.5), (16, 0.25), (17, 0.125)]
    assert values(recording, "kl") == ["nan"] * 3


def test_cleanrl_lines():
    text = "global_step=30, episodic_return=[21.]\nSPS: 812\nglobal_step=60, episodic_return=[22.]\nSPS: 813\n"
    recording = read(console, text, "ppo.log")
    assert recording.indexed_by == "row"
    assert points(recording, "global_step") == [(0, 30), (2, 60)]
    assert points(recording, "episodic_return") == [(0, 21), (2, 22)]
    assert points(recording, "SPS") == [(1, 812), (3, 813)]


def test_hand_written_loops():
    text = (
        "2025-07-26 02:54:07,342 - __main__ - INFO - Epoch 1/3, Step 10, Loss: -0.5\n"
        "2025-07-26 02:54:09,995 - __main__ - INFO - Epoch 1/3, Step 20, Loss: 0.25\n"
        "2025-07-26 02:55:11,967 - __main__ - INFO - Epoch 1 completed, Average Loss: 0.125\n"
        "2025-07-26 02:55:12,426 - __main__ - INFO - Saved checkpoint to /models/checkpoint-epoch-1\n"
    )
    recording = read(console, text, "run.log")
    assert recording.indexed_by == "row"
    assert points(recording, "step") == [(0, 10), (1, 20)]
    assert points(recording, "epoch") == [(0, 1), (1, 1), (2, 1)]
    assert points(recording, "Loss") == [(0, -0.5), (1, 0.25)]
    assert points(recording, "Average Loss") == [(2, 0.125)]


def test_the_updates_of_an_epoch_are_counted_on_through_the_next():
    text = (
        "Epoch:[1/2](100/300), Reward: -1.5, KL_ref: -0.001\n"
        "Epoch:[1/2](300/300), Reward: -1.25, KL_ref: 0.5\n"
        "Epoch:[2/2](100/300), Reward: -1.0, KL_ref: 0.75\n"
    )
    recording = read(console, text, "grpo.log")
    assert values(recording, "step") == [100, 300, 400]
    assert values(recording, "Reward") == [-1.5, -1.25, -1.0]


def test_what_a_saved_checkpoint_scores_is_an_evaluation_at_its_step():
    text = (
        "[play] rl_model_10240_steps.zip VecNormalize(count=0.0001) episodes=20 mean_reward=47.15 +/- 14.52\n"
        "[play] rl_model_20480_steps.zip VecNormalize(count=0.0001) episodes=20 mean_reward=9.65 +/- 0.65\n"
        "ckpts/checkpoint-300: accuracy=0.5 n=200\n"
        "Saving checkpoint-400 reward=0.5\n"
        "step_10: reward=0.5 loss=0.1\n"
    )
    recording = read(console, text, "play.log")
    assert values(recording, "step")[:2] == [10240, 20480]
    assert values(recording, "eval/mean_reward") == [47.15, 9.65]
    assert values(recording, "eval/accuracy") == [0.5]
    assert "eval/reward" not in recording.curves


def test_a_step_that_is_written_with_its_end():
    text = '{"loss": 0.5, "global_step/max_steps": "1/547", "memory(GiB)": 20.5}\n' * 2
    assert points(read(console, text, "swift.log"), "loss") == [(1, 0.5), (1, 0.5)]


def test_the_text_of_completions_among_the_metrics_is_passed_over():
    rows = [f"step:{i} - critic/score/mean:0.5\nSo x = {i}, and\nx = 7\n" for i in range(500)]
    rows[3] += "Apples per day: 4\n"
    rows[9] += "Apples per day: 6\n"
    rows[20] += "".join(f"eval accuracy: 0.{i}\n" for i in range(10, 20))
    assert set(read(console, "".join(rows), "run.log").curves) == {"critic/score/mean", "eval accuracy"}


def test_numbers_in_columns_and_an_evaluation_below_its_line_are_read():
    lines = [f"step {500 * i:5d} return {7.5 * i:7.2f} kept {100 + i}/144 alpha {1 / i:.3f}" for i in range(1, 9)]
    lines[3] += "\n   eval return -15.90"
    lines[7] += "\n   eval return 3.25"
    found = read(console, "\n".join(lines) + "\n", "run.log").curves
    assert {name: len(curve.values) for name, curve in found.items()} == {
        "step": 8, "return": 8, "kept": 8, "alpha": 8, "eval/return": 2,
    }  # fmt: skip
    assert list(found["return"].values[:2]) == [7.5, 15.0]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Episode: 12 | reward = 31.0 | eps=0.05", {"episode": 12.0, "reward": 31.0, "eps": 0.05}),
        ("iter 7 loss: tensor(0.5, device='cuda:0') acc: 50%", {"loss": 0.5, "acc": 0.5}),
        ("[rank0]: step=3 mean_reward=nan", {"mean_reward": "nan"}),
        ("Epoch 4: train_loss=1e-3, val_loss=-inf", {"train_loss": 0.001, "val_loss": -math.inf}),
        ("total timesteps: 4096 ep_rew: np.float32(2.5)", {"total_timesteps": 4096.0, "ep_rew": 2.5}),
    ],
)
def test_names_and_numbers(line: str, expected: dict[str, float]):
    recording = read(console, line + "\n", "run.log")
    found = {name: values(recording, name)[0] for name in recording.curves}
    assert found.items() >= expected.items()
    assert len({name.lower() for name in found}) == len(found)


@pytest.mark.parametrize(
    "line",
    [
        "2025-07-26 01:47:43.533198: E external/xla/cuda_fft.cc:467] Unable to register cuFFT factory",
        "E0000 00:00:1753494463.550217    6019 cuda_dnn.cc:8579] Unable to register cuDNN factory",
        "Generating reference responses: 120/1000",
        "Listening on http://127.0.0.1:8080",
        "Downloading: 100%|██████████| 1.2G/1.2G [00:30<00:00, 40MB/s]",
        "learning_rate=1e-05, gamma=0.99",
        "torch==2.13.0",
        "{'unclosed': 1",
        "binary garbage " * 10 + "\x00\xff\x01 x = \x02",
    ],
)
def test_lines_that_are_no_metrics(line: str):
    assert read(console, (line + "\n").encode("latin-1", "ignore"), "run.log").curves == {}


def test_printed_settings_are_config_and_no_curves():
    text = """INFO - GRPO Config: {
  "learning_rate": 1e-05,
  "bf16": true,
  "nested": {"beta": 0.1}
}
Args: {'seed': 42, 'env': 'Pong'}
(WorkerDict pid=7) kwargs: {'top_p': 1, 'ignore_eos': False}
Epoch 1, Step 10, Loss: 0.5
"""
    recording = read(console, text, "run.log")
    sampling = {"top_p": 1, "ignore_eos": False}
    options = {"learning_rate": 1e-05, "bf16": True, "nested.beta": 0.1, "seed": 42, "env": "Pong"}
    assert recording.config == options | sampling
    assert values(recording, "Loss") == [0.5]


def test_a_dict_that_is_never_closed_hides_nothing_for_ever():
    line = "global_step=30, episodic_return=[21.]\n"
    for dump in ("config: {\n", "config: {\n" + "  'a': {\n" * 6000):
        assert values(read(console, dump + line, "run.log"), "episodic_return") == [21]


def test_output_of_windows_powershell():
    text = "global_step=30, episodic_return=[21.]\r\nglobal_step=60, episodic_return=[22.]\r\n"
    recording = read(console, text.encode("utf-16"), "run.log")
    assert values(recording, "episodic_return") == [21, 22]


def test_resume_keeps_the_step_and_the_open_table():
    whole = "Train step 3/9 done\n│ a │ 1.0 │\n│ b │ 2.0 │\n╘═══╧═════╛\nTrain step 4/9 done\n│ a │ 3.0 │\n"
    with file_of(whole[:35], "run.log") as path:
        first = console.read(path)
        path.write_text(whole)
        second = console.read(path, first.resume)
        again = console.read(path, first.resume)
        path.write_text("Train step 1/9 done\n│ a │ 9.0 │\n")
        third = console.read(path, second.resume)
    assert points(first, "a") == [(3, 1)]
    assert points(second, "b") == [(3, 2)]
    assert points(second, "a") == [(4, 3)]
    assert points(again, "a") == points(second, "a")
    assert not second.replaces
    assert third.replaces
    assert points(third, "a") == [(1, 9)]


@pytest.mark.parametrize(
    "line",
    [
        "9" * 50_000 + "%|",
        "Step 1: loss=" + "9" * 9000 + "x",
        "a=1," * 2400,
        "x" * 9000 + "=(" * 400,
        "step: " * 1500 + "=",
        "Step 12 | " + "A " * 20_000,
        "• " + "a" * 50_000,
        "│" * 50_000,
        "{'" * 20_000,
        "(" * 50_000 + " pid=",
        "a(" + "b=1, " * 1900,
        "best " * 1900 + "x=1",
        "Evaluating" + "." * 9000,
        "A " * 2500 + "1.5",
        "time elapsed: " * 600 + "1:1:1:1",
    ],
)
def test_no_line_takes_more_than_linear_time(line: str):
    """A quadratic pattern would hang for minutes here."""
    console_ = Console()
    console_.feed(line * 10 + "\nglobal_step=30, episodic_return=[21.]\n")
    assert "episodic_return" in console_.recording().curves


@pytest.mark.parametrize(
    ("name", "data", "claimed"),
    [
        ("run.log", b"anything", True),
        ("slurm-12.out", b"anything", True),
        ("log.txt", b"anything", True),
        ("notes.txt", b"buy milk\n", False),
        ("notes.txt", b"global_step=30, episodic_return=[21.]\n", True),
        ("pasted.txt", b"{'loss': 0.5, 'reward': 1.0}\n{'loss': 0.25, 'reward': 1.5}\n", True),
        ("blob.log", b"\0" * 100, False),
        ("run.py", b"global_step=30", False),
    ],
)
def test_which_files_are_claimed(name: str, data: bytes, claimed: bool):
    with file_of(data, name) as path:
        assert console.sniff(path, data) is claimed


def test_an_empty_log_is_refused():
    with file_of(b"", "run.log") as path, pytest.raises(Unreadable, match="is empty"):
        console.read(path)


def test_a_name_and_its_number_between_commas_after_a_step():
    text = (
        "Iter 10: Train loss 2.101, Learning Rate 1.000e-05, It/sec 1.220, Trained Tokens 5000, Peak mem 12.1 GB\n"
        "Iter 10: Val loss 2.201, Val took 3.1s\n"
        "Iter 20: Train loss 1.951, Learning Rate 1.000e-05, It/sec 1.210, Trained Tokens 10000, Peak mem 12.1 GB\n"
        "step 20: the loss 3, as I said, is not 4\n"
    )
    recording = read(console, text, "train.log")
    assert [value for _, value in points(recording, "Train loss")] == [2.101, 1.951]
    assert [value for _, value in points(recording, "Val loss")] == [2.201]
    assert [value for _, value in points(recording, "Trained Tokens")] == [5000, 10000]
    assert "the loss" not in recording.curves


def test_a_loop_that_prints_its_own_names_between_bars_is_not_prime_rl():
    text = "".join(f"Step {i} | loss:{2 / i:.3f} lr:2e-05 | reward: {i / 10}\n" for i in range(1, 4))
    recording = read(console, text, "train.log")
    assert [value for _, value in points(recording, "reward")] == [0.1, 0.2, 0.3]
    assert [value for _, value in points(recording, "loss")] == [2.0, 1.0, 0.667]


def test_a_pretty_printed_row_of_a_log_is_no_configuration():
    row = "{'loss': 0.5,\n 'rewards/accuracy': 0.25,\n 'reward': 0.25,\n 'epoch': 0.09}\n"
    recording = read(console, row, "issue.log")
    assert values(recording, "reward") == [0.25]
    config = "{'learning_rate': 1e-6,\n 'loss_type': 'grpo',\n 'epochs': 3}\n"
    assert read(console, config + row, "issue.log").config["epochs"] == 3


@pytest.mark.parametrize(
    "line",
    [
        "step {i} | loss 0.4 | reward {r}", "step {i}  loss 0.4  reward {r}", "[{i}] loss 0.4 reward {r}",
        "[{i}/30] loss 0.4 reward {r}", "{i}/30 loss 0.4 reward {r}", "Step {i}, Loss 0.3, Reward {r}",
        "it {i}: reward {r} ent 0.4", "update {i} - reward {r} - kl 0.1",
    ],
)  # fmt: skip
def test_a_script_that_prints_names_and_numbers_without_a_colon(tmp_path: Path, line: str) -> None:
    rewards = [round(0.2 + i / 100, 2) for i in range(15)]
    (tmp_path / "train.log").write_text("".join(line.format(i=i, r=r) + "\n" for i, r in enumerate(rewards, 1)))
    curve = read_run(tmp_path).series["reward.mean"]
    assert curve.values.tolist() == rewards
    assert curve.steps.tolist() == list(range(1, 16))


@pytest.mark.parametrize(
    "line", ["Step {i} took 5 seconds", "step {i} of 30 took 5 seconds", "loading shard {i} of 30"]
)
def test_a_sentence_with_numbers_is_no_metric(tmp_path: Path, line: str) -> None:
    (tmp_path / "train.log").write_text("".join(line.format(i=i) + "\n" for i in range(1, 16)))
    with pytest.raises(Unreadable):
        read_run(tmp_path)


def test_bars_keep_pairs_apart_even_where_one_part_is_none():
    text = "".join(
        f"Episode {i:04}/700 | epsilon {1 - i / 80:.3f} | loss nan | win rate (last 100) {i / 100} | saved\n"
        for i in range(20, 80, 20)
    )
    recording = read(console, text, "train.log")
    assert values(recording, "win rate") == [0.2, 0.4, 0.6]
    assert values(recording, "episode") == [20, 40, 60]


def test_lines_behind_a_logger_s_stamp_and_evaluations_at_a_step():
    stamp = "2026-03-03 08:12:04,123 INFO "
    text = "".join(
        f"{stamp}step {i}/210 | loss -0.02 | ep_ret  {i}.5 +-  9.0 | grad_norm 0.5\n"
        f"{stamp}validation @ step {i}: exact_match 0.{i} avg_len 2.6\n"
        for i in (1, 2, 3)
    )
    recording = read(console, text, "run.log")
    assert values(recording, "ep_ret") == [1.5, 2.5, 3.5]
    assert values(recording, "eval/exact_match") == [0.1, 0.2, 0.3]


def test_a_stamp_is_no_part_of_the_first_name():
    text = "".join(f"2026-03-03 08:12:0{i} INFO loss: 0.{i} reward: 1.{i}\n" for i in range(1, 6))
    recording = read(console, text, "run.log")
    assert values(recording, "loss") == [0.1, 0.2, 0.3, 0.4, 0.5]
    assert values(recording, "reward") == [1.1, 1.2, 1.3, 1.4, 1.5]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("upd 001/9 | frames 64 | R   3.5 | ret_tgt mean/max  2.0/  7.5 | ent 1.3", {"frames": 64, "ret_tgt_max": 7.5}),
        (
            "[  250] success(250) 0.02 | steps/ep  10 | eps 0.9 alpha 0.7 | Q[0].max 0.1",
            {"success": 0.02, "alpha": 0.7},
        ),
        ("u=     1 T=      80 R=-20.5 pi=+0.02 V=0.05", {"step": 1, "R": -20.5, "V": 0.05}),
        ("Time steps: 5000 | critic_loss 2.5 | q_data 27.7", {"timesteps": 5000, "critic_loss": 2.5}),
        ("Evaluation over 10 episodes: 1020.5, mean length: 412.5", {"eval/return": 1020.5, "eval/mean length": 412.5}),
        ("ep=01 R=  -2.5 heat(min/mean/max)=0.0/0.5/1.0 buf=288", {"R": -2.5, "heat_mean": 0.5, "heat_max": 1}),
        ("v=25 frames=   32 fps=9 | ret(100)=  9.5 | kl(mu||pi)=0.5", {"ret": 9.5, "kl_mu_pi": 0.5}),
        ("ep 0 it  52/340 | loss 0.54 + reg 0.03 | acc 0.7 (sd 1.0)", {"step": 52, "loss": 0.54, "acc": 0.7}),
        ("step 000 reward 0.5 [easy=0.6(n=24)] all0 0.3 | pg +0.1 kl 0.2", {"reward": 0.5, "kl": 0.2}),
        ("    dev: acc=0.05 (28/473) mean_len=502.0", {"eval/acc": 0.05}),
        (
            "it 10 | train R +0.13 succ 0.66 len 12.6 | pi -0.1 vf 0.75",
            {"R": 0.13, "succ": 0.66, "len": 12.6, "pi": -0.1},
        ),
        ("  >> eval@50: R -0.05 succ 0.475  [cue 0.00]", {"step": 50, "eval/R": -0.05, "eval/succ": 0.475}),
        ("    eval: solved 0.70 ret 0.413 (64 episodes)", {"eval/solved": 0.7, "eval/ret": 0.413}),
        ("step 50 vs[init] W 0.469 D 0.125 L 0.406 | pg -0.1", {"W": 0.469, "L": 0.406, "pg": -0.1}),
        ("grpo_loss is -0.2218 and kl is 0.2111", {"grpo_loss": -0.2218, "kl": 0.2111}),
        (
            "12:00:47.450 [INFO] (t.py:9) Evaluation Total Steps:  20 Average Reward -5.0 over  5 episodes",
            {"eval/Average Reward": -5},
        ),
        ("s0055 acc=0.51 mix=0.79 | len=602", {"step": 55, "acc": 0.51, "len": 602}),
    ],
)
def test_what_loops_print_between_bars_and_brackets(line: str, expected: dict[str, float]) -> None:
    found = console.pairs.read(line)
    assert found is not None
    assert {name: found.values.get(name) for name in expected} == expected


def test_statistics_and_times_in_one_cell() -> None:
    line = "step 16 | return(50)   21.0 | action mean -0.02 std 0.5 | kl 0.1 | per step: env 1.5 ms, replay 0.5 ms"
    found = console.pairs.read(line)
    assert found is not None
    assert found.values == {
        **{"step": 16, "return": 21.0, "action_mean": -0.02, "action_std": 0.5, "kl": 0.1},
        **{"time_of_env": 0.0015, "time_of_replay": 0.0005},
    }


@pytest.mark.parametrize(
    ("line", "option", "value"),
    [
        ("Namespace(env='Walker2d-v4', gamma=0.99, net=[64, 64], epochs=4)", "epochs", 4),
        ("[19:03:11] sac.py --env Ant-v4 --total-steps 4000000 --lr 3e-4 --resume", "total_steps", 4000000),
        ("TD3+BC  alpha=2.5 discount=0.99 tau=0.005 batch=256", "batch", 256),
        ("args: lr=1e-06 eps_clip=0.2 num_rollout=200", "eps_clip", 0.2),
        ("[env] Hover-v1 obs=(3,) action_space: Box(low=0.0, high=20.0)", "action_space", "Box(low=0.0, high=20.0)"),
    ],
)
def test_lines_of_options(line: str, option: str, value: float) -> None:
    recording = read(console, f"{line}\nstep 1 | loss 0.5 | lr 0.1\nstep 2 | loss 0.4 | lr 0.1\n", "run.log")
    assert recording.config[option] == value
    assert option not in recording.curves


def test_a_heading_of_counters_and_its_columns_are_one_row() -> None:
    text = "".join(
        f"[INFO 21:17:0{i}] main Recent Stats | t_env:      {i}00 | Episode:      {i}\n"
        f"return_mean:     1.{i}\tloss:     0.{i}\ntest_return_mean:     2.{i}\tgrad_norm:   3.{i}\n"
        for i in range(1, 5)
    )
    recording = read(console, text, "cout.txt")
    assert points(recording, "t_env")[0][0] == points(recording, "grad_norm")[0][0]
    assert values(recording, "test_return_mean") == [2.1, 2.2, 2.3, 2.4]


_BLOCK = "  Learning iteration 7/9\nMean value loss: 0.1\nMean std: 0.5\nMean reward: 2.5\nMean entropy loss: 3\nMean length: 9\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (_BLOCK, {"Mean reward": [2.5]}),
        ("trainer/QF1 Loss      1e+19\ntrainer/Q1 Predictions Std   3.5\n", {"trainer/QF1 Loss": [1e19]}),
        ("-----  ---\nEpoch    1\nAvgRew   2\n-----  ---\nEpoch    2\nAvgRew   4\n", {"AvgRew": [2, 4]}),
        ("steps  mean\n10  1.5\n20  nan\n", {"steps": [10, 20], "mean": [1.5, "nan"]}),
        ("   reward  loss\n0  1.5  0.1\n1  2.5  0.2\n", {"step": [0, 1], "reward": [1.5, 2.5]}),
        ("   episode  loss\n0  50  0.1\n1  100  0.2\n", {"episode": [50, 100], "loss": [0.1, 0.2]}),
        ("[{'epoch': 1, 'loss': 0.5}, {'epoch': 2, 'loss': 0.25}]\n", {"loss": [0.5, 0.25]}),
        ("Epoch 0:\nstats: {'kl': array(0.),\n 'logprobs': array([[-1., ...,\n -3.]])}\n", {"logprobs": [-2]}),
        ("-----\nIter: \t 0\nMaxRew: \t 3 +- 1\n" * 2, {"MaxRew": [3, 3]}),
        ("Time 08h 36m 42s, Avg Reward 0.5, Avg Loss 0.2, Best 0.5\n" * 2, {"Avg Reward": [0.5, 0.5]}),
        ("Epoch 3/9 Running...\nMean reward: 1.5\nEpoch 4/9 Running...\nMean reward: 2.5\n", {"epoch": [3, 4]}),
        (
            "epoch 1 loss 0.5\nAgent SUCCESS Rate 0.25\nepoch 2 loss 0.4\nAgent SUCCESS Rate 0.5\n",
            {"Agent SUCCESS Rate": [0.25, 0.5]},
        ),
        (
            "Iteration 1\n- actor loss: 0.5\n- kl: 0.1\nIteration 2\n- actor loss: 0.4\n- kl: 0.2\n",
            {"actor loss": [0.5, 0.4]},
        ),
        ("│ Return: 245.5 ± 12.1 │\n│ Loss: 0.5 │\n└────────┘\n", {"Return": [245.5]}),
        ("step=1, loss=0.5\neval_return=2.5\neval_success=0.5\nstep=2, loss=0.4\n", {"eval_return": [2.5]}),
        (
            "Result for PPO_x_1:\n  date: 2022-04-22\n  info:\n    learner:\n      mean_q: -0.5\n"
            "      td:\n      - 1.5\n  pid: 9\n\n",
            {"info/learner/mean_q": [-0.5], "pid": [9]},
        ),
        ("train | iter 1 | loss 0.5\neval | iter 1 | loss 0.7\n", {"loss": [0.5], "eval/loss": [0.7]}),
    ],
)
def test_what_people_paste(text: str, expected: dict[str, list[float]]) -> None:
    recording = read(console, text, "pasted.txt")
    assert {name: values(recording, name) for name in expected} == expected


@pytest.mark.parametrize("text", ["cat  1\ndog  2\ncat  3\n", "the name\n1 2\n", "step by step\nmean 1\n1 2 3\n"])
def test_a_list_of_words_and_numbers_is_no_log(text: str) -> None:
    assert not console.sniff(Path("labels.txt"), text.encode())


def test_lines_that_end_in_a_carriage_return_alone():
    recording = read(console, "".join(f"{{'step': {i}, 'loss': {i / 4}}}\r" for i in range(100)), "train.log")
    assert len(recording.curves["loss"].values) == 100


_BLOCKS = "".join(
    f"Eval metrics at step {i}:\n  Reward: mean={r}, std=1.5\n  Steps:  mean={n}\n"
    for i, r, n in ((0, 3.5, 9.0), (6, "nan", 0.0))
)
_TWO_LINES = (
    "[INFO] episode 86207    episode step: 58        total score: -549\n"
    "total loss: -4.5e13        policy loss: -4.75e13       value loss: 2.5e12\n"
)


@pytest.mark.parametrize(
    ("text", "steps", "expected"),
    [
        (_BLOCKS, [0, 6], {"eval.reward": [3.5, "nan"], "eval.episode_length": [9, 0], "eval.reward.std": [1.5, 1.5]}),
        (_TWO_LINES, [86207], {"reward.mean": [-549], "policy.loss": [-4.75e13], "episode.length": [58]}),
        (
            "".join(f"\n---- Iteration #{i} ----\nAverage Return: {i}.5\nAverage Loss: nan\n-----\n" for i in (7, 8)),
            [7, 8],
            {"reward.mean": [7.5, 8.5], "loss.total": ["nan", "nan"]},
        ),
        (
            "".join(f"10:00:0{i},1 INFO  iteration {i}/9\n10:00:0{i},2 INFO  epoch 1/4\nloss=0.{i}, kl=1.5\n" for i in (7, 8)),
            [7, 8],
            {"loss.total": [0.7, 0.8]},
        ),
        (
            "".join(f"Epoch {i}/9\n  train: loss=0.{i}, reward=1.5\n  val:   loss=0.5, reward=2.{i}\n" for i in (1, 2)),
            [1, 2],
            {"reward.mean": [1.5, 1.5], "eval.reward": [2.1, 2.2], "loss.total": [0.1, 0.2]},
        ),
        (
            "".join(f"Step {i:>9,} | Mean reward: {i / 8} | Replay size: 1.5k | Success rate: 50%\n" for i in (8, 10000)),
            [8, 10000],
            {"reward.mean": [1, 1250], "replay.size": [1500, 1500], "success_rate": [0.5, 0.5]},
        ),
        (
            "".join(f"Train: {i}0%|# | {i}/9 [00:01<00:09, 9it/s]Episode {i}, avg return: 0.{i}, ε: 0.5\n" for i in (1, 2)),
            [1, 2],
            {"reward.mean": [0.1, 0.2], "epsilon": [0.5, 0.5]},
        ),
        (
            "".join(f"Updates {i}, FPS 9\n Last 9 episodes: mean/median reward {i}.5/2.0, min/max reward 0/9\n" for i in (1, 2)),
            [1, 2],
            {"reward.mean": [1.5, 2.5], "reward.max": [9, 9]},
        ),
    ],
)  # fmt: skip
def test_blocks_and_updates_of_several_lines(tmp_path, text, steps, expected) -> None:
    (tmp_path / "console.txt").write_text(text)
    series = read_run(tmp_path).series
    read_ = {name: (series[name].steps.tolist(), [str(v) for v in series[name].values.tolist()]) for name in expected}
    assert read_ == {name: (steps, [str(float(v)) for v in curve]) for name, curve in expected.items()}


def test_an_evaluation_between_lines_that_count_themselves(tmp_path: Path) -> None:
    rows = "Episode: {0}00, Avg Reward: {0}.5, Avg Steps: 20\n"
    text = rows.format(1) + rows.format(2) + "\nEvaluation Results:\nAverage Reward: 9.5\n\n" + rows.format(3)
    (tmp_path / "log.txt").write_text(text)
    series = read_run(tmp_path).series
    assert (series["eval.reward"].steps.tolist(), series["eval.reward"].values.tolist()) == ([200], [9.5])
    assert series["reward.mean"].values.tolist() == [1.5, 2.5, 3.5]
    assert series["episode.length"].steps.tolist() == [100, 200, 300]


def test_headings_count_with_the_tables_between_them() -> None:
    table = "-----\n| time/total_timesteps | {0}000 |\n| rollout/ep_rew_mean | {0}.5 |\n-----\n"
    block = "Evaluation at step {0}000:\n  Return: mean={0}, std=0.5\n"
    recording = read(console, table.format(4) + block.format(5) + table.format(8) + block.format(9), "run.log")
    assert values(recording, "time/total_timesteps") == [4000, 5000, 8000, 9000]
    assert values(recording, "eval/Return/mean") == [5, 9]


def test_a_heading_of_something_else_counts_nothing() -> None:
    text = "".join(
        f"Episode {i} | reward: {i}.5\nSaved checkpoint at step {i}000\n=== Step 2 of 5 ===\n" for i in range(9)
    )
    assert set(read(console, text, "run.log").curves) == {"episode", "reward"}


def test_what_is_left_out_is_said() -> None:
    recording = read(console, "step 1 | loss 0.5 | lr 0.1\nApples per day: 4\n", "run.log")
    assert recording.notes == ["printed once, without a step, and left out: Apples per day"]


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("it 3 | rew 0.2 +- 0.4 | kl(ref) 0.01 | |g| 0.18 | 0.05s", {"step": 3, "rew": 0.2, "kl_ref": 0.01, "grad_norm": 0.18}),
        ("[eval] it 15 heldout exact 0.188", {"step": 15, "heldout exact": 0.188}),
        ("KL=0.5 Adv(mean=0.1, std=1.0)Loss=2.5 Norm(P=3, V=4)", {
            "KL": 0.5, "Adv_mean": 0.1, "Adv_std": 1.0, "Loss": 2.5, "Norm_P": 3, "Norm_V": 4,
        }),
        ("[MBPO]     1000/100000 ep_rew=0.5 actor=0.25", {"step": 1000, "ep_rew": 0.5, "actor": 0.25}),
        ("[Epoch 0.5]  loss=0.25  reward=1.5±0.5", {"epoch": 0.5, "loss": 0.25, "reward": 1.5}),
        ("Round 3: wins=14, loss=0.5", {"round": 3, "wins": 14, "loss": 0.5}),
        ("  ├─ Policy loss: 0.5", {"Policy loss": 0.5}),
        ("Episode length: 475.5 +/- 3.5", {"eval/Episode length": 475.5}),
        ("Speed: 100 steps/s (collection: 1.75s, learning 0.5s)", {"Speed": 100, "collection": 1.75, "learning": 0.5}),
        ("Evaluating...  Score:  -5.5, Length: 544", {"eval/Score": -5.5, "eval/Length": 544}),
        ("[DQN] Episode 7 - Truncated at step 1000. Reward: 14.5", {"episode": 7, "episode_length": 1000, "reward": 14.5}),
        ("[step 10] best of last batch  reward=0.99", {"step": 10, "best reward": 0.99}),
        ("Iter 3: loss=0.5, Time elapsed: 1 day, 00:01:03", {"iter": 3, "loss": 0.5, "Time elapsed": 86463}),
        ("iter 3 | ||g||=0.3 | time(s)=4.0 | loss 0.4", {"iter": 3, "grad_norm": 0.3, "time_s": 4.0}),
    ],
)  # fmt: skip
def test_names_with_what_they_are_of_in_brackets_and_norms_between_bars(line: str, values: dict[str, float]) -> None:
    found = pairs.read(line)
    assert found is not None
    assert found.values == values


_KERAS_RL = "".join(
    f"Interval {i} ({1000 * (i - 1)} steps performed)\n1000/1000 [=====] - 6s 6ms/step - reward: -0.{i}\n"
    f"5 episodes - episode_reward: -9{i}.5 [-99.0, -9.0] - loss: 0.{i} - mean_q: -3.5\n\n"
    for i in (1, 2)
)
_PYMARL = (
    "return_mean:          1.5\tepsilon:             0.25\ntest_return_mean:      2.5\ttest_x_mean:      9\n\n...\n"
    "[INFO 09:38:59] my_main t_env: 700 / 10000\n[INFO 09:39:05] my_main Recent Stats | t_env:   700 | Episode:   30\n"
    "return_mean:          3.5\tepsilon:             0.05\nloss:                0.5\tq_taken_mean:        4\n"
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            _KERAS_RL + "done, took 12.5 seconds\nEpisode 1: reward: -55.5, steps: 20\nEpisode 2: reward: -66.5, steps: 20\n",
            {
                "reward.mean": [(0, -91.5), (1000, -92.5)],
                "env.step_reward": [(0, -0.1), (1000, -0.2)],
                "eval.reward": [(1000, -55.5), (1000, -66.5)],
            },
        ),
        (
            "('Episode #', 0, '\\tfinished with reward', -9.5, '\\tloss', 0.5)\n"
            "['Episode #', 100, 'reward:', 3, 'loss', 0.25]\n",
            {"reward.mean": [(0, -9.5), (100, 3)], "loss.total": [(0, 0.5), (100, 0.25)]},
        ),
        (
            "".join(
                f"****** Iteration {i} ******\nTotal number of episodes:        {i}00\nTime elapsed:       0.{i} mins\n"
                for i in (2, 3)
            ),
            {"progress.episodes": [(2, 200), (3, 300)], "time.elapsed": [(2, 12), (3, 18)]},
        ),
        (
            "".join(
                f"**** Iteration {i} ****\nOptimizing...\n pol_surr |  pol_entpen |  kl\n"
                f"  0.{i} |  0.5 |  0.1\n  0.1 |  0.5 |  1.{i}\n"
                for i in (2, 3)
            ),
            {"policy.loss": [(2, 0.2), (2, 0.1), (3, 0.3), (3, 0.1)], "kl.old": [(2, 0.1), (2, 1.2), (3, 0.1), (3, 1.3)]},
        ),
        (
            "".join(
                f"[2022-03-02 23:05:0{i},460][123] Fps is (10 sec: {i}0.5, 60 sec: 9.0). Total num frames: {i}000. "
                f"Throughput: 0: 3.5. Samples: 5. Policy #0 lag: (min: 0.0, avg: {i}.5)\n"
                f"[2022-03-02 23:05:0{i},461][123] Avg episode reward: [(0, '-1.{i}')]\n" for i in (1, 2)
            ),
            {
                "throughput.fps": [(1000, 10.5), (2000, 20.5)],
                "reward.mean": [(1000, -1.1), (2000, -1.2)],
                "staleness.mean": [(1000, 1.5), (2000, 2.5)],
            },
        ),
        (
            "Training for 100 steps.\n[5000] expl_amount 0.0 / model_grad_norm nan / prior_ent 6.5\n"
            "Test episode of length 90 with return 2.5.\n"
            "Train episode of length 80 with return 1.5.\n[6000] expl_amount 0.3 / model_grad_norm inf / prior_ent 7.5\n"
            "Train episode of length 70 with return -1.5.\n",
            {
                "reward.mean": [(5000, 1.5), (6000, -1.5)],
                "eval.reward": [(5000, 2.5)],
                "episode.length": [(5000, 80), (6000, 70)],
                "grad.norm": [(5000, "nan"), (6000, math.inf)],
            },
        ),
        (
            "Episode 3 finished after 12 steps with reward -9.5\n"
            "Episode 4 finished after 20 timesteps with a total reward of 8\n",
            {"reward.mean": [(3, -9.5), (4, 8)], "episode.length": [(3, 12), (4, 20)]},
        ),
        (
            _PYMARL,
            {"reward.mean": [(700, 3.5)], "value.mean": [(700, 4)], "epsilon": [(700, 0.05)], "eval.reward": [(0, 2.5)]},
        ),
        (
            "".join(f"Epoch: {i}, global_step={i}00\nSampling\nSPS: 9{i}, pg_loss=-0.{i}\n" for i in (0, 1)),
            {"policy.loss": [(0, -0.0), (100, -0.1)], "throughput.sps": [(0, 90), (100, 91)]},
        ),
        (
            "| Reward: 29  | Episode 267 | Qmax: 16.5\n| Reward: 37  | Episode 268 | Qmax: 15.5\n",
            {"reward.mean": [(267, 29), (268, 37)], "value.max": [(267, 16.5), (268, 15.5)]},
        ),
        (
            "".join(f"VALID step={i} acc=0.{i}\nTRAIN step={i} loss=1.{i}\n" for i in (1, 2)),
            {"eval.accuracy": [(1, 0.1), (2, 0.2)], "loss.total": [(1, 1.1), (2, 1.2)]},
        ),
        (
            "".join(f"2026-01-01 eval version={i} pass_rate=0.{i}\n2026-01-01 train version={i} kl=1.{i} lr=1\n" for i in (1, 2)),
            {"eval.accuracy": [(1, 0.1), (2, 0.2)], "lr": [(1, 1), (2, 1)]},
        ),
        (
            "ID  Step  maxR |  avgR  etc.\n0  10  -9 |\n0  10  -9 |  -5  3  4\n0  20  -9 |  -4  3  4\n",
            {"reward.mean": [(10, -5), (20, -4)]},
        ),
        (
            " Total T: 27 Episode Num: 3 Episode T: 10 Reward: 9.5   \n"
            " 50%|##   | 1/2 [00:01<00:01, 9it/s]Total T: 39 Episode Num: 4 Episode T: 12 Reward: -8.5\n",
            {"reward.episode": [(27, 9.5), (39, -8.5)], "episode.length": [(27, 10), (39, 12)]},
        ),
    ],
)  # fmt: skip
def test_what_each_trainer_prints_belongs_to_its_step(tmp_path: Path, text: str, expected: dict[str, list]) -> None:
    (tmp_path / "train.log").write_text(text)
    series = read_run(tmp_path).series
    found = {name: list(zip(series[name].steps, map(str, series[name].values), strict=True)) for name in expected}
    assert found == {name: [(step, str(float(value))) for step, value in curve] for name, curve in expected.items()}


@pytest.mark.parametrize(
    "stamp",
    [
        "2024-11-28 21:11:33,359 Learner INFO ", "[INFO 09:38:59] my_main ", "INFO:learner:", "Learner INFO ",
        "2024-11-28 21:11:33.359 | INFO     | train:fit:42 - ", "[2025-01-01 10:00:00,123][trainer][INFO] - ",
        "[2025-01-01 10:00:00,123][INFO][trainer] ", "INFO 2024-11-28 21:11:33,359 learner.run ", "12:00:00 [learner] INFO: ",
        "2025-07-26 02:54:07,342 - learner - INFO - ", "I1128 21:11:33.359123 12345 learner.py:33] ",
    ],
)  # fmt: skip
def test_time_level_and_logger_are_no_part_of_the_first_name(stamp: str) -> None:
    found = pairs.read(f"{stamp}value loss: 29.5, kl: 0.5")
    assert found is not None
    assert found.values == {"value loss": 29.5, "kl": 0.5}


def test_counters_between_the_lines_of_a_block_are_a_part_of_it() -> None:
    block = "Epoch: {0}\nMean reward: {0}.5\nTotal steps: {0}000\nMean loss: 0.{0}\n"
    recording = read(console, block.format(1) + block.format(2), "run.log")
    rows = [
        [row for row, _ in points(recording, name)] for name in ("epoch", "total_steps", "Mean reward", "Mean loss")
    ]
    assert rows == [[0, 1]] * 4


@pytest.mark.parametrize(
    ("line", "values"),
    [
        ("reward: (mean: 3.5, std: 1.5), length: (max: 30)", {"reward_mean": 3.5, "reward_std": 1.5, "length_max": 30}),
        ("KL between old and new distribution:      0.5", {"KL between old and new distribution": 0.5}),
        ("wandb:                 +1 ...", None),
        ("('a', 'b')", None),
    ],
)
def test_statistics_in_brackets_and_long_names(line: str, values: dict[str, float] | None) -> None:
    found = pairs.read(line)
    assert (dict(found.values) if found else None) == values


def test_a_bar_says_how_fast_it_is() -> None:
    bar = "ep: 50%|##  | 1/2 [00:01<00:01, {}, loss=0.5]\n"
    assert values(read(console, bar.format("4.0it/s") + bar.format("2.0s/it"), "run.log"), "it/s") == [4, 0.5]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("51000 / 1000000 eps 0.899 |  avgR -0.5 | Loss 9e-03 ", {"step": 51000, "eps": 0.899, "avgR": -0.5, "Loss": 0.009}),
        ("20.  43587/50000: episode: 588, reward: 1.5", {"step": 43587, "episode": 588, "reward": 1.5}),
        ("losses/q1_loss 132.5 102000", {"losses/q1_loss": 132.5, "global_step": 102000}),
        ("losses/alpha [0.25] 102000", {"losses/alpha": 0.25, "global_step": 102000}),
        ("[train: 2, 20 / 125] FPS: 19.3 (29.0)  ,  a/b: 0.5", {"epoch": 2, "step": 145, "FPS": 19.3, "a/b": 0.5}),
        ("[val: 2, 20 / 125] FPS: 19.3 (29.0)  ,  a/b: 0.5", {"epoch": 2, "step": 145, "eval/FPS": 19.3, "eval/a/b": 0.5}),
        ("[Learner] Loss = 0.5 | Steps = 70", {"loss": 0.5, "learner_steps": 70}),
        ("[Environment Loop] Episode Length = 7 | Steps = 8", {"episode_length": 7, "actor_steps": 8}),
        ("MeanRew: \t -257.5 +- 63.25", {"MeanRew": -257.5}),
        ("Elapsed time\t 2.0 min", {"Elapsed time": 120}),
    ],
)  # fmt: skip
def test_more_ways_to_say_numbers(line: str, expected: dict[str, float]) -> None:
    assert pairs.read(line).values == expected


def test_blocks_between_rules_whose_first_line_counts(tmp_path: Path) -> None:
    block = "Iteration: \t {0}\nLoss:     \t 0.{0}\nMeanRew: \t -{0}.5 +- 6.2\nMeanEntropy \t 2.{0}\n-----------\n-----------\n"
    (tmp_path / "out.txt").write_text("".join(map(block.format, (1, 2, 3))))
    series = read_run(tmp_path).series
    assert series["reward.mean"].values.tolist() == [-1.5, -2.5, -3.5]
    assert series["policy.entropy"].steps.tolist() == [1, 2, 3]


def test_a_label_with_a_percent_sign_is_a_name(tmp_path: Path) -> None:
    table = "---------\n| % time spent exploring | {0} |\n| mean 100 episode reward | {0}0 |\n| steps | {0}00 |\n---------\n"
    (tmp_path / "console.txt").write_text("".join(map(table.format, (2, 3))))
    assert read_run(tmp_path).series["epsilon"].values.tolist() == [0.02, 0.03]


def test_an_evaluation_at_the_end_is_one_point_and_options_above_are_options(tmp_path: Path) -> None:
    rows = "".join(f"Episode {i}\tAvg reward: {i}.5\tAvg loss: 0.{i}\n" for i in range(1, 8))
    (tmp_path / "train.log").write_text(f"Seed: 101\nLearning rate: 0.008\n{rows}Evaluation score: 124.5\n")
    run = read_run(tmp_path)
    assert run.series["eval.reward"].values.tolist() == [124.5]
    assert (run.config.values["seed"], run.config.values["learning_rate"]) == (101, 0.008)


def test_a_readme_is_read_where_it_is_asked_for_and_not_beside_a_log(tmp_path: Path) -> None:
    printed = "\n".join(f"> step {i} - reward: {0.1 * i:.2f} - loss: {1 / i:.3f}" for i in range(1, 12))
    (tmp_path / "README.md").write_text(f"# What it printed\n\n{printed}\n")
    assert len(read_run(tmp_path / "README.md").series["reward.mean"]) == 11
    (tmp_path / "log.csv").write_text("step,loss\n1,0.5\n2,0.4\n")
    assert "reward.mean" not in read_run(tmp_path).series


def test_cells_of_words_alone_take_no_number_away() -> None:
    line = "TIMESTEP {} / STATE observe / ACTION 0.0 / EPSILON 0.03 / REWARD 0.1"
    assert pairs.read(line.format(7)) == pairs.read(line.format(7).replace(" / STATE observe", ""))
    assert pairs.read(line.format(7)) is not None
