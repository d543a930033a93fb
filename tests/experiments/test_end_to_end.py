"""Diagnosis, experiment, diagnosis: with the commands that a user types, on real trainers with a planted fault."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
pytestmark = pytest.mark.trainer
GRPO = (
    "--learning_rate 1e-3 --lr_scheduler_type constant --beta 0.02 --num_generations 4 --per_device_train_batch_size 32"
    " --per_device_eval_batch_size 32 --max_completion_length 16 --logging_steps 1 --use_cpu true --bf16 false"
    " --report_to none --save_strategy no --disable_tqdm true --max_steps 24"
)


def firstbreak(*arguments: str, cwd: Path) -> str:
    command = [sys.executable, "-c", "from firstbreak.cli import main; main()", *arguments]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=env)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


def likeliest(text: str) -> tuple[str, float]:
    """The first cause of a JSON diagnosis or plan, and its probability."""
    cause: dict[str, Any] = json.loads(text)["causes"][0]
    return cause["id"], cause["probability"]


def test_a_discount_that_is_a_slip_is_proved_on_stable_baselines3(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    script = HERE / "train_sb3.py"
    subprocess.run([sys.executable, str(script), "--out", str(tmp_path / "run")], check=True, cwd=tmp_path)
    (tmp_path / "firstbreak.toml").write_text(
        "[experiment]\n"
        f'command = "{{python}} {script} {{overrides}} --out {{folder}}/run"\n'
        'logs = "{folder}/run"\nsyntax = "flags"\ncomplete = true\n'
        '[experiment.options]\ntotal_steps = "total_timesteps"\neval_interval = "eval_freq"\n'
        'learning_rate = "learning_rate"\ngamma = "gamma"\nseed = "seed"\n'
        "[experiment.now]\neval_interval = 800\n"
    )
    _, before = likeliest(firstbreak("experiment", "plan", "run", "--json", cwd=tmp_path))
    said = firstbreak("experiment", "run", "long-horizon", "run", cwd=tmp_path)
    assert "yes" in said
    cause, after = likeliest(firstbreak("experiment", "status", "run", "--format", "json", cwd=tmp_path))
    assert cause == "horizon-too-short"
    assert after > max(before, 0.9)


def test_a_reward_with_the_wrong_sign_is_proved_on_trl_without_touching_its_script(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    script = HERE / "train_trl.py"
    command = [sys.executable, str(script), *GRPO.split(), "--output_dir", str(tmp_path / "run")]
    subprocess.run(command, check=True, cwd=tmp_path, capture_output=True)
    (tmp_path / "firstbreak.toml").write_text(
        "[experiment]\n"
        f'command = "{{python}} {script} {GRPO} {{overrides}} --output_dir {{folder}}/run"\n'
        'logs = "{folder}/run"\n'
    )
    dry = firstbreak("experiment", "run", "invariants", "run", "--dry-run", cwd=tmp_path)
    assert "--learning_rate 1e-07" in dry
    assert "--max_steps 10" in dry
    assert not (tmp_path / "firstbreak-experiments").exists()
    said = firstbreak("experiment", "run", "invariants", "run", cwd=tmp_path)
    assert "do right answers earn less than others' answers or nothing at all? yes" in said
    cause, after = likeliest(firstbreak("experiment", "status", "run", "--format", "json", cwd=tmp_path))
    assert cause == "reward-sign-wrong"
    assert after > 0.9
