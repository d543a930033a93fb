"""What sets in late is looked for from the last checkpoint before it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from firstbreak.cli import app
from firstbreak.engine.read import read
from firstbreak.experiments import conduct
from firstbreak.experiments.catalogue import catalogue
from firstbreak.experiments.resume import ANEW, start_of
from firstbreak.experiments.settings import Settings
from firstbreak.model import Checkpoint, Config, Run

TRL = Settings(command=("train", "{overrides}"))
DESIGN = catalogue()["zero-rate"]


def late(folder: Path) -> Run:
    """A reward that rises for 300 of 500 steps, then collapses with its entropy; a model was saved every 100 steps."""
    rng = np.random.default_rng(0)
    rewards = np.concatenate([np.linspace(0.2, 0.8, 300), np.full(200, 0.05)]) + rng.normal(0, 0.02, 500)
    entropy = np.concatenate([np.full(300, 2.0), np.full(200, 0.01)])
    rows = zip(range(1, 501), rewards, entropy, strict=True)
    folder.mkdir()
    (folder / "metrics.jsonl").write_text(
        "".join(json.dumps({"step": s, "reward": r, "entropy": e, "kl": s / 5000}) + "\n" for s, r, e in rows)
    )
    for step in range(100, 600, 100):
        (folder / f"checkpoint-{step}").mkdir()
    run = read(folder)
    keys = {"learning_rate": "learning_rate", "total_steps": "max_steps"}
    return replace(run, trainer="trl", config=Config(values={"learning_rate": 1e-3, "total_steps": 500}, keys=keys))


def test_a_late_break_is_looked_for_from_the_last_checkpoint_before_it(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    begins = start_of(run, TRL, length=50)
    assert begins.checkpoint is not None
    assert begins.checkpoint.step in (100, 200)
    assert start_of(run, TRL, length=400) == ANEW


@pytest.mark.parametrize(
    ("trainer", "told"),
    [
        ("trl", ["--resume_from_checkpoint {place}", "--max_steps 250"]),
        ("verl", ["trainer.resume_mode=resume_path", "trainer.resume_from_path={place}", "max_steps=250"]),
        ("sb3", ["-i {place}", "max_steps:50"]),  # rl-zoo counts the steps after the checkpoint
    ],
)
def test_each_trainer_is_told_in_its_own_way(tmp_path: Path, trainer: str, told: list[str]) -> None:
    run = replace(late(tmp_path / "run"), trainer=trainer, checkpoints=(Checkpoint(step=200, path="checkpoint-200"),))
    begins = conduct.start(DESIGN, run, TRL)
    (trial,) = conduct.prepare(DESIGN, run, TRL, tmp_path / "out", begins=begins)["treated"]
    command = " ".join(trial.arguments)
    for words in told:
        assert words.replace("{place}", str(tmp_path / "run" / "checkpoint-200")) in command


def test_where_nothing_was_saved_or_the_trainer_cannot_it_is_said(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    assert "no checkpoint" in start_of(replace(run, checkpoints=()), TRL, length=50).reason
    assert "resume_from" in start_of(replace(run, trainer=None), TRL, length=50).reason
    named = replace(TRL, options={"resume_from": "init"})
    assert "init" in (start_of(replace(run, trainer=None), named, length=50).options or {})


def test_steps_that_a_trainer_counts_afresh_are_placed_behind_the_checkpoint(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    begins = start_of(run, TRL, length=50)
    afresh = replace(run, series={name: s.between(0, 50) for name, s in run.series.items()})
    assert begins.placed(afresh).first_step == begins.step + 1
    assert begins.placed(begins.placed(afresh)).first_step == begins.step + 1
    assert ANEW.placed(afresh) is afresh


def test_a_dry_run_says_where_it_starts(tmp_path: Path) -> None:
    late(tmp_path / "run")
    settings = tmp_path / "firstbreak.toml"
    settings.write_text(
        '[experiment]\ncommand = "train {overrides}"\nsyntax = "flags"\n'
        '[experiment.options]\ntotal_steps = "steps"\nlearning_rate = "lr"\nresume_from = "init"\n'
        "[experiment.now]\ntotal_steps = 500\nlearning_rate = 0.001\n"
    )
    arguments = ["experiment", "run", "rate-tenth", str(tmp_path / "run"), "--settings", str(settings), "--dry-run"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("# start: from checkpoint-")
    assert f"--init {tmp_path / 'run' / 'checkpoint-'}" in done.output


def test_a_dry_run_shows_the_files_that_a_trial_would_get(tmp_path: Path) -> None:
    late(tmp_path / "run")
    (tmp_path / "train.yaml").write_text("lr: 0.001\nsteps: 500\n")
    settings = tmp_path / "firstbreak.toml"
    settings.write_text(
        '[experiment]\ncommand = "train {config}"\nsyntax = "yaml"\nconfig = "train.yaml"\n'
        '[experiment.options]\ntotal_steps = "steps"\nlearning_rate = "lr"\n'
        "[experiment.now]\ntotal_steps = 500\nlearning_rate = 0.001\n"
    )
    arguments = ["experiment", "run", "rate-tenth", str(tmp_path / "run"), "--settings", str(settings), "--dry-run"]
    done = CliRunner().invoke(app, arguments)
    assert done.exit_code == 0, done.output
    assert "#   lr: 0.0001\n#   steps: 75\n" in done.output
