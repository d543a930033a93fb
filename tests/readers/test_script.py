"""The script beside a log: its settings count behind what was recorded, and nothing of it is run."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from firstbreak.engine.inputs import Inputs
from firstbreak.knowledge.causes.evidence import built_without_wrappers
from firstbreak.model import Run
from firstbreak.readers.read import read
from firstbreak.readers.script import sniff

SCRIPT = """
import sys; sys.modules["ran"] = sys
import gymnasium as gym
import torch.nn as nn
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize

LEARNING_RATE = 3e-4
epsilon = 1.0
env = VecNormalize(DummyVecEnv([lambda: gym.make("CartPole-v1")]))
eval_env = DummyVecEnv([lambda: gym.make("CartPole-v1")])
plot(alpha=0.5)
head = nn.Dropout(0.1)
model = PPO("MlpPolicy", env, learning_rate=LEARNING_RATE, n_steps=2048, gamma=0.9, batch_size=64)
for _ in range(10):
    model.learn(10_000)
    env.reset(seed=42)
    epsilon *= 0.9
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train.py").write_text(SCRIPT)
    (tmp_path / "log.csv").write_text("step,reward\n" + "".join(f"{i},{i % 3}\n" for i in range(20)))
    return tmp_path


def noted(run: Run, word: str) -> bool:
    return any(word in note for note in run.notes)


def test_settings_of_a_script_are_read_and_named_and_nothing_is_run(folder: Path) -> None:
    run = read(folder)
    assert {
        "learning_rate": 3e-4,
        "gamma": 0.9,
        "n_steps": 2048,
        "minibatch_size": 64,
    }.items() <= run.config.values.items()
    assert "train.py" in run.files
    assert "ran" not in sys.modules
    raw = run.config.raw
    assert raw["dropout"] == 0.1
    assert raw["wrappers_of_training_only"] == "VecNormalize"
    assert not {"alpha", "epsilon", "total_timesteps"} & raw.keys()  # of a plot, changed later, of one piece
    assert noted(run, "starts from the same state")
    assert noted(run, "schedules begin again")


def test_wrappers_of_training_only_speak_for_an_evaluation_that_was_built_otherwise(folder: Path) -> None:
    (weight,) = built_without_wrappers(Inputs(read(folder)))
    assert weight.weight > 0
    assert "VecNormalize" in weight.text
    (folder / "train.py").write_text(SCRIPT.replace("eval_env = DummyVecEnv(", "eval_env = VecNormalize("))
    assert not built_without_wrappers(Inputs(read(folder)))


def test_what_was_recorded_counts_before_the_script(folder: Path) -> None:
    (folder / "config.yaml").write_text("lr: 0.01\n")
    values = read(folder).config.values
    assert values["learning_rate"] == 0.01
    assert values["gamma"] == 0.9


def test_defaults_of_options_are_called_so(folder: Path) -> None:
    (folder / "train.py").write_text(
        "import argparse\np = argparse.ArgumentParser()\np.add_argument('--gamma', default=0.8)\nloss.backward()\n"
    )
    run = read(folder)
    assert run.config.values["gamma"] == 0.8
    assert noted(run, "defaults of its options")


@pytest.mark.parametrize(("name", "text"), [("other.py", SCRIPT), ("train.py", "x = (")])
def test_which_script_wrote_the_log_is_not_guessed(folder: Path, name: str, text: str) -> None:
    (folder / name).write_text(text)
    assert not read(folder).config.values


def test_a_file_that_trains_nothing_is_no_script(folder: Path) -> None:
    (folder / "train.py").write_text("LEARNING_RATE = 1\n")
    assert not sniff(folder / "train.py", b"")
