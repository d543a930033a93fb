"""Hyperparameters in a saved model of Stable-Baselines3."""

import io
import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import pytest

from firstbreak.readers import Unreadable, sb3_zip
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read

PICKLED = {":type:": "<class 'function'>", ":serialized:": "gAWVKwAAAAAAAAA="}
DQN = {
    "policy_class": PICKLED,
    "learning_rate": 3e-4,
    "gamma": 0.99,
    "batch_size": 64,
    "buffer_size": 1_000_000,
    "target_update_interval": 10_000,
    "exploration_fraction": 0.1,
    "exploration_final_eps": 0.05,
    "ent_coef": "auto",
    "seed": None,
    "num_timesteps": 5000,
    "_total_timesteps": 100_000,
    "lr_schedule": PICKLED,
    "policy_kwargs": {
        ":type:": "<class 'dict'>",
        ":serialized:": "gAWV",
        "net_arch": [64, 64],
        "activation_fn": PICKLED,
    },
}


def model(data: Any = DQN, first: str = "data") -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(first, data if isinstance(data, (bytes, str)) else json.dumps(data))
        archive.writestr("policy.pth", b"weights")
        archive.writestr("_stable_baselines3_version", "2.7.0")
    return stream.getvalue()


def progress(folder: Path) -> None:
    rows = "".join(f"{i * 2048},{i},{1 / (i + 1)}\n" for i in range(30))
    (folder / "progress.csv").write_text("time/total_timesteps,rollout/ep_rew_mean,train/loss\n" + rows)


def test_the_options_of_the_model_beside_a_log_are_those_of_the_run(tmp_path: Path) -> None:
    progress(tmp_path)
    (tmp_path / "best_model.zip").write_bytes(model())
    run = read(tmp_path)
    assert run.trainer == "sb3"
    for option in ("learning_rate", "gamma", "buffer_size"):
        assert run.config.get(option) == DQN[option]
    for option in ("batch_size", "target_update_interval", "exploration_fraction", "exploration_final_eps", "ent_coef"):
        assert run.config.raw[option] == DQN[option]
    assert run.config.raw["policy_kwargs.net_arch"] == [64, 64]
    assert not [name for name in run.config.raw if "serialized" in name or name in ("lr_schedule", "num_timesteps")]
    assert any("stable-baselines3 2.7.0" in note for note in run.notes)


def test_a_folder_of_models_is_no_run_of_its_own(tmp_path: Path) -> None:
    for name in ("numbers", "saved"):
        (tmp_path / name).mkdir()
    progress(tmp_path / "numbers")
    (tmp_path / "saved" / "model.zip").write_bytes(model())
    assert find_runs(tmp_path) == [tmp_path]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (model(b"{" * 10), "no JSON"),
        (model([1, 2]), "no JSON object"),
        (model(b"[" * 100_000), "no JSON"),
        (model(b" " * (40 << 20)), "larger than 16 MiB"),  # 40 KiB when packed
        (model(pickle.dumps({"learning_rate": 1})), "no JSON"),
        (model()[:200], "cannot be unpacked"),
    ],
)
def test_bad_archives_end_in_one_line(data: bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "model.zip"
    path.write_bytes(data)
    assert sb3_zip.sniff(path, data[:4096])
    with pytest.raises(Unreadable, match=problem) as caught:
        sb3_zip.read(path)
    assert "\n" not in str(caught.value)


def test_other_archives_are_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "logs.zip"
    path.write_bytes(model(first="data.csv"))
    assert not sb3_zip.sniff(path, path.read_bytes()[:4096])
