"""Experiments of the catalogue on faults of the lab, each run once and kept as one line of a file.

Each experiment runs the lab's trainer with the same injected fault. Overrides, hooks and the code that reads the results
are the same as for a user. Only the interpreter is not started again: each trial is forked from a process that has
imported torch and Stable-Baselines3, because the imports would take most of the time of a trial of two seconds.
"""

import importlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
import zlib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import NoReturn

import firstbreak_lab
from firstbreak_lab import corpus
from firstbreak_lab.running import Label, read_label

from firstbreak.cli import app
from firstbreak.engine.catalogue import Design, catalogue
from firstbreak.engine.questions import Answer, Question
from firstbreak.experiments import conduct, plan
from firstbreak.experiments.overrides import CannotOverride, render
from firstbreak.experiments.runner import Result, Trial
from firstbreak.experiments.settings import ExperimentSettings, TrialLimits
from firstbreak.live import hooks
from firstbreak.model import Run
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ("src/firstbreak/experiments", "src/firstbreak/live/hooks", "lab/src/firstbreak_lab")

#: canonical option -> its name in the lab's trainers
LANGUAGE = {
    "total_steps": "total_train_steps", "eval_interval": "eval_every", "learning_rate": "lr", "kl_coef": "kl_ctl",
    "value_learning_rate": "critic_lr", "warmup_steps": "lr_warmup_steps", "minibatches": "ppo_n_minibatches",
    "clip_range": "eps_clip", "entropy_coef": "entropy_coef", "temperature": "temperature", "top_p": "top_p",
    "max_new_tokens": "max_new_tokens", "group_size": "n_samples", "batch_size": "batch_size", "gamma": "discount",
    "max_staleness": "max_head_offpolicyness", "recompute_logprob": "recompute_logprob",
    "use_decoupled_loss": "use_decoupled_loss", "behave_weight_cap": "behave_imp_weight_cap", "seed": "seed",
    "dynamic_sampling": "dynamic_sampling", "precision": "precision", "model": "warmup_accuracy",
}  # fmt: skip
CLASSIC = {
    "total_steps": "total_timesteps", "eval_interval": "eval_every", "learning_rate": "hyperparameters.learning_rate",
    "gamma": "hyperparameters.gamma", "entropy_coef": "hyperparameters.ent_coef", "clip_range": "hyperparameters.clip_range",
    "epochs_per_batch": "hyperparameters.n_epochs", "minibatch_size": "hyperparameters.batch_size",
    "value_coef": "hyperparameters.vf_coef", "normalize_reward": "normalize_reward", "seed": "seed",
}  # fmt: skip
TRL = {
    "total_steps": "steps", "eval_interval": "grpo.eval_steps", "learning_rate": "grpo.learning_rate",
    "kl_coef": "grpo.beta", "temperature": "grpo.temperature", "top_p": "grpo.top_p", "group_size": "grpo.num_generations",
    "max_new_tokens": "grpo.max_completion_length", "clip_range": "grpo.epsilon", "epochs_per_batch": "grpo.num_iterations",
    "scale_rewards": "grpo.scale_rewards", "seed": "seed",
}  # fmt: skip
OPTIONS = {"language": LANGUAGE, "agent": LANGUAGE, "preference": LANGUAGE, "classic": CLASSIC, "trl": TRL}


@dataclass(frozen=True, kw_only=True)
class Row:
    """One experiment on one run of the corpus."""

    experiment: str
    archive: str
    answers: dict[str, bool | None]  #: question -> yes, no or open
    reasons: dict[str, str]
    share: float  #: steps of all arms over the original run's
    cpu_share: float  #: processor seconds of all arms over the original run's
    version: str  #: of the code and of the run that these answers are of

    def answer(self, asks: str) -> Answer:
        """The answer to one question."""
        return Answer(yes=self.answers[asks], reason=self.reasons[asks])


class Rows:
    """Finished experiments, one line each in a file. An interrupted benchmark can be continued."""

    def __init__(self, path: Path, folder: Path) -> None:
        self.path, self.folder = path, folder
        lines = path.read_text().splitlines() if path.exists() else []
        known = (Row(**json.loads(line)) for line in lines)
        current = (row for row in known if row.version == version(folder, row.archive))
        self.rows = {(row.experiment, row.archive): row for row in current}

    def get(self, design: Design, archive: str) -> Row | None:
        """The stored row of this experiment and run, for the current version of the code."""
        return self.rows.get((design.id, archive))

    def run(self, wanted: Iterable[tuple[Design, str]], processes: int) -> None:
        """Run the missing ones of these experiments, in `processes` processes."""
        missing = [(d.id, archive, str(self.folder)) for d, archive in wanted if self.get(d, archive) is None]
        if not missing:
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        _load()
        with multiprocessing.get_context("fork").Pool(processes) as pool:
            for done, row in enumerate(pool.imap_unordered(_row, missing), 1):
                self.rows[(row.experiment, row.archive)] = row
                with self.path.open("a") as lines:
                    lines.write(json.dumps(asdict(row)) + "\n")
                print(f"{done}/{len(missing)} {row.experiment} {row.archive}", file=sys.stderr, flush=True)


@cache
def code() -> str:
    """Eight digits that change with any line of the experiments, the hooks and the lab."""
    sources = sorted(path for folder in SOURCES for path in (ROOT / folder).rglob("*.py"))
    return f"{zlib.crc32(b''.join(path.read_bytes() for path in sources)):08x}"


def version(folder: Path, archive: str) -> str:
    """Changes with the code and with the run. Empty if the run does not exist any more."""
    path = folder / archive
    return f"{code()}-{zlib.crc32(path.read_bytes()):08x}" if path.exists() else ""


def settings_of(label: Label) -> ExperimentSettings:
    """How a user of the lab would start this run again."""
    program = str(Path(sys.executable).with_name("firstbreak"))
    shorter = corpus.SHORTER.get(label.base, {})
    options = [word for key, value in shorter.items() for word in ("--set", f"{key}={value}")]
    fault = ["--base", label.base, "--severity", str(label.severity), "--seed", str(label.seed)]
    kind = label.base.partition("/")[0]
    return ExperimentSettings(
        command=(program, "lab", "run", label.variant, *fault, *options, "{overrides}", "-o", "{folder}"),
        directory=ROOT,
        logs="{folder}/run",
        syntax="--set {option}={value}",
        hooks=True,
        complete=True,
        options=OPTIONS[kind],
        now={"total_steps": label.steps} | ({"eval_interval": 5_000} if kind == "classic" else {}),
        values={"sft_model": 0.8},  # demonstrations until four of five samples are right
        environment={"OMP_NUM_THREADS": "1"},
        limits=TrialLimits(minutes=15),
    )


def obstacle(design: Design, question: Question, run: Run, label: Label) -> str:
    """Why this experiment cannot answer the question on this run of the lab. Empty if the experiment can."""
    settings = settings_of(label)
    try:
        for values in plan.arms(design, run, settings).values():
            render(values, run, settings)
    except CannotOverride as error:
        return str(error)
    return "" if question in plan.answerable(design, run, settings) else f"{label.base} records no {question.needed}"


def _row(job: tuple[str, str, str]) -> Row:
    name, archive, folder = job
    design = catalogue()[name]
    with corpus.opened(Path(folder), archive) as (path, label), tempfile.TemporaryDirectory() as scratch:
        run, settings = read(path), settings_of(label)
        arms = conduct.prepare(design, run, settings, Path(scratch), design.seeds)
        trials = [trial for of_arm in arms.values() for trial in of_arm]
        results = forked(trials)
        seen = conduct.read_back(design, arms, results, run, settings)
        answers = conduct.ask(design, run, settings, seen, arms, results)
        spent = sum(read_label(trial.folder).cpu_seconds for trial in trials if (trial.folder / "label.json").exists())
        return Row(
            experiment=name,
            archive=archive,
            answers={q.asks: a.yes for q, a in zip(design.questions, answers, strict=True)},
            reasons={q.asks: a.reason for q, a in zip(design.questions, answers, strict=True)},
            share=round(conduct.compute(seen, run, settings), 4),
            cpu_share=round(spent / label.cpu_seconds, 4),
            version=version(Path(folder), archive),
        )


# --- a trial without a new interpreter ----------------------------------------------------------------------------------


def _load() -> None:
    """Import what every trial needs, before the first fork. This process has no threads."""
    for name in (
        "torch._dynamo",
        "stable_baselines3",
        "firstbreak_lab.classic.trainer",
        "firstbreak_lab.language.trainer",
    ):
        importlib.import_module(name)


def forked(trials: list[Trial]) -> list[Result]:
    """Each trial in a process that is forked from this one."""
    return [_forked(trial) for trial in trials]


def _forked(trial: Trial) -> Result:
    trial.folder.mkdir(parents=True)
    start = time.monotonic()
    process = os.fork()
    if process == 0:
        _become(trial)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    state = "finished" if code == 0 else "failed"
    return Result(trial=trial.name, state=state, exit_code=code, seconds=time.monotonic() - start)


def _become(trial: Trial) -> NoReturn:
    """In the child process: do what the command of the trial would do, then exit."""
    code = 1
    try:
        output = os.open(trial.folder / "output.txt", os.O_WRONLY | os.O_CREAT)
        os.dup2(output, 1)
        os.dup2(output, 2)
        os.environ.update(trial.environment)
        _hook()
        app.main(args=list(trial.arguments[1:]), standalone_mode=False)
        code = 0
    finally:
        sys.stdout.flush()
        os._exit(code)


def _hook() -> None:
    """Apply the hooks to modules that are already imported."""
    sys.path.insert(0, str(hooks.FOLDER))
    import firstbreak_hooks

    if firstbreak_hooks.wanted():
        firstbreak_hooks.CHANGES.update(firstbreak_lab.TRIAL_HOOKS)
        firstbreak_hooks.install()
        for name in firstbreak_hooks.CHANGES.keys() & sys.modules.keys():
            firstbreak_hooks.change(sys.modules[name])
