"""The trials of a late fault start from the last checkpoint before it."""

import json
import re
import shutil
import zipfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from firstbreak.cli import app
from firstbreak.engine.catalogue import catalogue
from firstbreak.experiments import conduct
from firstbreak.experiments.overrides import CannotOverride
from firstbreak.experiments.resume import FROM_THE_BEGINNING, start_of
from firstbreak.experiments.runner import Result
from firstbreak.experiments.settings import ExperimentSettings, TrialLimits
from firstbreak.model import Config, Run, Series
from firstbreak.readers.read import read
from tests.command import printed
from tests.experiments.test_inside import hooked

TRL = ExperimentSettings(command=("train", "{overrides}"))
DESIGN = catalogue()["zero-rate"]
LENGTH = 50.0  #: steps of its arm, of 500


def late(folder: Path, trainer: str = "trl") -> Run:
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
        save(folder, step, trainer)
    values = {"learning_rate": 1e-3, "total_steps": 500, "warmup_steps": 20}
    keys = {name: name for name in ("learning_rate", "warmup_steps", "seed")} | {"total_steps": "max_steps"}
    return replace(read(folder), trainer=trainer, config=Config(values=values, keys=keys))


def save(folder: Path, step: int, trainer: str) -> None:
    """A checkpoint as the trainer leaves it behind, without the weights."""
    match trainer:
        case "sb3":
            with zipfile.ZipFile(folder / f"rl_model_{step}_steps.zip", "w") as model:
                model.writestr("data", "{}")
        case "verl":
            (folder / f"global_step_{step}" / "actor").mkdir(parents=True)
            (folder / f"global_step_{step}" / "data.pt").touch()
        case _:
            place = folder / f"checkpoint-{step}"
            (place / f"global_step{step}").mkdir(parents=True)  # DeepSpeed's own, which is no checkpoint by itself
            (place / "scheduler.pt").touch()
            (place / "trainer_state.json").write_text(json.dumps({"global_step": step, "log_history": []}))


def test_the_trials_of_a_late_break_start_from_the_last_checkpoint_before_it(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    begins = start_of(run, TRL, length=50)
    assert begins.checkpoint is not None
    assert begins.checkpoint.path == "checkpoint-200"
    assert begins.since == pytest.approx(300, abs=5)
    assert start_of(run, TRL, length=400) == FROM_THE_BEGINNING


@pytest.mark.parametrize(
    ("trainer", "options"),
    [
        ("trl", ["--resume_from_checkpoint {run}/checkpoint-200", "--max_steps {on}"]),
        (
            "verl",
            [
                "trainer.resume_mode=resume_path trainer.resume_from_path={run}/global_step_200",
                'actor_rollout_ref.actor.checkpoint.load_contents=["model"]',  # it would bring the old rate back
                "max_steps={on}",
            ],
        ),
        ("sb3", ["-i {run}/rl_model_200_steps.zip", "max_steps:{afresh}"]),  # rl-zoo counts from the checkpoint
    ],
)
def test_each_trainer_resumes_with_its_own_options(tmp_path: Path, trainer: str, options: list[str]) -> None:
    run = late(tmp_path / "run", trainer)
    begins = conduct.start(DESIGN, run, TRL)
    (trial,) = conduct.prepare(DESIGN, run, TRL, tmp_path / "out", begins=begins)["treated"]
    command = " ".join(trial.arguments)
    afresh = round(begins.lead + LENGTH)
    assert 95 < begins.lead < 105  # from the checkpoint at 200 to the break; the trial's own steps come after it
    for words in options:
        assert words.format(run=tmp_path / "run", on=200 + afresh, afresh=afresh) in command
    assert "warmup" not in command  # it lies behind, and a shorter one would shift the schedule


def test_where_nothing_was_saved_or_the_trainer_cannot_it_is_said(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    assert "resume_from" in start_of(replace(run, trainer=None), TRL, length=50).reason
    named = replace(TRL, options={"resume_from": "init"})
    assert "init" in start_of(replace(run, trainer=None), named, length=50).options
    tuned = replace(run, trainer="llamafactory", algorithm="ppo")
    assert "not known" in start_of(tuned, TRL, length=50).reason
    for step in (100, 200):
        shutil.rmtree(tmp_path / "run" / f"checkpoint-{step}")
    assert "has no checkpoint before it" in start_of(run, TRL, length=50).reason


def test_a_checkpoint_that_was_not_saved_to_its_end_is_passed_over(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    (tmp_path / "run" / "checkpoint-200" / "trainer_state.json").unlink()
    assert start_of(run, TRL, length=50).step == 100
    (tmp_path / "run" / "checkpoint-100" / "scheduler.pt").unlink()  # only the model was saved
    assert "none of the 2 checkpoints before it is complete" in start_of(run, TRL, length=50).reason
    poles = late(tmp_path / "poles", "sb3")
    whole = (tmp_path / "poles" / "rl_model_200_steps.zip").read_bytes()
    (tmp_path / "poles" / "rl_model_200_steps.zip").write_bytes(whole[: len(whole) // 2])
    assert start_of(poles, TRL, length=50).step == 100


def test_checkpoints_are_found_beside_a_log_file_and_where_the_user_says(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    file = replace(run, path=str(tmp_path / "run" / "metrics.jsonl"), checkpoints=())
    assert start_of(file, TRL, length=50).place == str(tmp_path / "run" / "checkpoint-200")
    save(tmp_path / "saved", 150, "trl")
    elsewhere = replace(TRL, checkpoints=tmp_path / "saved")
    assert start_of(file, elsewhere, length=50).place == str(tmp_path / "saved" / "checkpoint-150")


def test_a_trainer_that_would_bring_the_old_learning_rate_back_begins_anew_or_is_hooked(tmp_path: Path) -> None:
    run = late(tmp_path / "run", "llamafactory")
    assert "learning rate" in conduct.start(DESIGN, run, TRL).reason
    assert conduct.start(DESIGN, run, TRL).checkpoint is None
    assert conduct.start(catalogue()["reward-negated"], run, TRL).step == 200
    hooked = replace(TRL, hooks=True, syntax="flags")
    begins = conduct.start(DESIGN, run, hooked)
    trials = conduct.prepare(DESIGN, run, hooked, tmp_path / "out", seeds=2, begins=begins)["treated"]
    cleaned = replace(run, trainer="cleanrl")  # whatever its script does, the hooks cannot see it
    named = replace(hooked, options={"resume_from": "init"})
    begins = conduct.start(DESIGN, cleaned, named)
    (unseen,) = conduct.prepare(DESIGN, cleaned, named, tmp_path / "out", begins=begins)["treated"]
    assert "--init" in unseen.arguments
    assert "resumed" not in unseen.environment.get("FIRSTBREAK_INTERVENE", "")
    first, second = (json.loads(t.environment["FIRSTBREAK_INTERVENE"])["resumed"] for t in trials)
    assert first["options"]["learning_rate"] == 0
    assert (first["step"], first["planned"]) == (200, 500)
    assert (first["other_seed"], second["other_seed"]) == (False, True)


def test_a_trainer_that_resumes_by_itself_gets_the_option_not_to(tmp_path: Path) -> None:
    run = late(tmp_path / "run", "verl")
    begins = start_of(run, TRL, length=400)
    assert begins.checkpoint is None
    (trial,) = conduct.prepare(DESIGN, run, TRL, tmp_path / "out", begins=begins)["treated"]
    assert "trainer.resume_mode=disable" in trial.arguments


def test_steps_to_the_break_are_within_the_limits(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    short = replace(TRL, limits=TrialLimits(steps=120))
    begins = start_of(run, short, length=50)
    assert begins.lead == 70
    assert "limits.steps ends the trial at step 320" in begins.reason
    elapsed = Series(name="time.elapsed", steps=np.r_[1.0, 500], values=np.r_[0, 3e4])
    each = replace(run, series={**run.series, "time.elapsed": elapsed})
    dear = replace(TRL, limits=TrialLimits(cost=2.0, rate=1.0))
    conduct.prepare(DESIGN, each, dear, tmp_path / "out")  # 50 steps of a minute each
    with pytest.raises(CannotOverride, match=r"cost about 2\.5"):
        conduct.prepare(DESIGN, each, dear, tmp_path / "out", begins=conduct.start(DESIGN, run, TRL))


def test_a_trial_is_what_comes_after_the_checkpoint_wherever_its_steps_are_counted_from(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    begins = start_of(run, TRL, length=50)
    trial = begins.placed(run)  # transformers writes the history before the checkpoint once more
    assert (trial.first_step, trial.last_step) == (201, 500)
    assert FROM_THE_BEGINNING.placed(run) is run
    afresh = replace(run, series={name: s.between(0, 50) for name, s in run.series.items()})
    pole = start_of(late(tmp_path / "pole", "sb3"), TRL, length=50)
    assert pole.placed(afresh).first_step == 201
    assert pole.placed(pole.placed(afresh)).first_step == 201  # reset_num_timesteps=False


def test_a_trial_without_own_steps_or_without_the_checkpoint_gives_no_conclusion(tmp_path: Path) -> None:
    run = late(tmp_path / "run")
    begins = conduct.start(DESIGN, run, TRL)
    arms = conduct.prepare(DESIGN, run, TRL, tmp_path / "out", begins=begins)
    (trial,) = arms["treated"]
    trial.folder.mkdir(parents=True)
    (trial.folder / "metrics.jsonl").write_text("".join(f'{{"step": {s}, "reward": 0.5}}\n' for s in range(1, 201)))
    results = [Result(trial=trial.name, state="finished", exit_code=0, seconds=1)]

    def reason() -> str:
        seen = conduct.read_back(DESIGN, arms, results, run, TRL, begins)
        return conduct.ask(DESIGN, run, TRL, seen, arms, results)[0].reason

    assert "did not resume from the checkpoint" in reason()
    (trial.folder / "interventions.jsonl").write_text('{"intervention": "resumed"}\n')
    assert "no step after the checkpoint" in reason()


TRANSFORMERS = """
class Scheduler:
    def __init__(self, steps): self.steps = steps
class Arguments:
    resume_from_checkpoint = "/saved/checkpoint-40"
class Trainer:
    args = Arguments()
    random_state = "the seed's"
    def create_scheduler(self, num_training_steps): self.lr_scheduler = Scheduler(num_training_steps)
    def _load_optimizer_and_scheduler(self, checkpoint):
        self.optimizer.param_groups = [{"params": [], "lr": 6e-5, "initial_lr": 1e-4, "weight_decay": 0.1}]
    def _load_rng_state(self, checkpoint): self.random_state = "the checkpoint's"
    def train(self, resume_from_checkpoint=None):
        self.optimizer = type("Optimizer", (), {})()
        self.optimizer.param_groups = [{"params": [], "lr": 1e-6, "initial_lr": 1e-6, "weight_decay": 0.0}]
        self.create_scheduler(50)
        if resume_from_checkpoint:
            self._load_optimizer_and_scheduler(resume_from_checkpoint)
            self._load_rng_state(resume_from_checkpoint)
        (group,) = self.optimizer.param_groups
        print(self.lr_scheduler.steps, group["lr"], group["weight_decay"], self.random_state)
"""


@pytest.mark.parametrize(
    ("given", "other_seed", "printed"),
    [
        ("", False, "100 6e-07 0.0 the checkpoint's"),  # the script does not hand its option on
        ("'/saved/checkpoint-40'", True, "100 6e-07 0.0 the seed's"),
        ("'/saved/another'", False, "50 6e-05 0.1 the checkpoint's"),  # a first stage of the script's own
    ],
)
def test_a_resumed_transformers_trainer_keeps_its_trials_settings(
    tmp_path: Path, given: str, other_seed: bool, printed: str
) -> None:
    (tmp_path / "transformers").mkdir()
    (tmp_path / "transformers" / "__init__.py").touch()
    (tmp_path / "transformers" / "trainer.py").write_text(TRANSFORMERS)
    state = {"checkpoint": "/saved/checkpoint-40", "step": 40, "planned": 100, "other_seed": other_seed, "options": {}}
    code = f"from transformers.trainer import Trainer; Trainer().train({given})"
    assert hooked(code, tmp_path, {"resumed": state}).strip() == printed
    assert (tmp_path / "interventions.jsonl").exists() is ("another" not in given)


def dry_run(
    run: str, folder: Path, more: str = "", command: str = "train {overrides}", syntax: str = "flags"
) -> list[str]:
    """The command, with settings that it writes."""
    settings = folder / "firstbreak.toml"
    resumed = 'resume_from = "init"\n' if syntax == "flags" else ""
    settings.write_text(
        f'[experiment]\ncommand = "{command}"\nsyntax = "{syntax}"\n{more}'
        f'[experiment.options]\ntotal_steps = "steps"\nlearning_rate = "lr"\n{resumed}'
        "[experiment.now]\ntotal_steps = 500\nlearning_rate = 0.001\n"
    )
    return ["experiment", "run", "rate-tenth", run, "--settings", str(settings), "--dry-run"]


def test_a_dry_run_says_where_it_starts(tmp_path: Path) -> None:
    late(tmp_path / "run")
    file = str(tmp_path / "run" / "metrics.jsonl")
    done = CliRunner().invoke(app, dry_run(file, tmp_path, 'checkpoints = "run"\n'))
    assert done.exit_code == 0, done.output
    assert done.output.startswith("# start: from checkpoint-")
    assert f"--init {tmp_path / 'run' / 'checkpoint-'}" in done.output


def test_a_trial_that_ends_before_the_break_says_so_before_it_is_run(tmp_path: Path) -> None:
    late(tmp_path / "run")
    asked = dry_run(str(tmp_path / "run"), tmp_path)
    assert "before the break" not in CliRunner().invoke(app, asked).output, "a checkpoint is there"
    for saved in (tmp_path / "run").glob("checkpoint-*"):
        shutil.rmtree(saved)
    done = CliRunner().invoke(app, asked)
    assert done.exit_code == 0, done.output
    said = re.search(r"ends at step (\d+), before the break at step (\d+).*--length (\S+) goes on", done.stderr)
    assert said is not None, done.output
    steps, at, share = int(said[1]), int(said[2]), float(said[3])
    assert steps < 300 <= at <= 302
    assert at + steps <= 500 * share < at + steps + 5, "the proposed length reaches behind the break"
    assert "a checkpoint from before step" in done.stderr
    assert "before the break" not in CliRunner().invoke(app, [*asked, "--length", said[3]]).output
    planned = CliRunner().invoke(app, ["experiment", "plan", *asked[3:-1]])
    assert "it can only answer for the beginning" in " ".join(planned.output.split())


def test_a_dry_run_shows_the_files_that_a_trial_would_get(tmp_path: Path) -> None:
    late(tmp_path / "run")
    (tmp_path / "train.yaml").write_text("lr: 0.001\nsteps: 500\n")
    arguments = dry_run(str(tmp_path / "run"), tmp_path, 'config = "train.yaml"\n', "train {config}", "yaml")
    done = printed(app, *arguments)
    assert "#   lr: 0.0001\n#   steps: 75\n" in done
