"""How the user's training is started: the section `[experiment]` of `firstbreak.toml`.

    [experiment]
    command = "python train.py {overrides} --output_dir {folder}/run"
    directory = "."              # where the command is started, relative to this file; "{folder}": the trial's own folder
    logs = "{folder}/run"        # where the trainer writes its metrics
    checkpoints = "saved/ppo"    # folder of the original run's checkpoints, if not the folder of its log; relative to this file
    syntax = "flags"             # flags, hydra, zoo, yaml, json, environment, source (a script without options: places in its
                                 # text are changed in a copy), or a template like "--set {option}={value}";
                                 # default: the syntax of the trainer
    config = "train.yaml"        # with syntax yaml or source: {config} is a changed copy of this file
    hooks = true                 # the command runs Python, and hooks may change the trainer (see live/hooks/)

    complete = true              # the script has only the options listed below

    [experiment.options]         # this script's names, if they differ from the trainer's names
    learning_rate = "lr"
    resume_from = "init"         # the option to resume from a checkpoint, for faults that begin late
    [experiment.now]             # values that the run did not log
    learning_rate = 1e-5
    [experiment.values]          # values that only you know
    test_set = "data/test.parquet"
    small_model = "Qwen/Qwen3-0.6B"
    [experiment.environment]
    WANDB_MODE = "offline"
    [experiment.limits]
    minutes = 30                 # of one trial
    disk_gb = 5                  # largest size of one trial's folder
    steps = 500                  # of one trial, at most
    cost = 20                    # of all trials, in the unit of `rate`
    rate = 2.5                   # cost of an hour of one trial
    retries = 1                  # number of times that a failed trial is started again

`{folder}` is the trial's own folder, `{overrides}` the rendered options, `{config}` the changed configuration file and
`{python}` the interpreter that runs firstbreak. No shell is used.
"""

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from firstbreak.dialects.hyperparameters import HYPERPARAMETERS
from firstbreak.model import EMPTY
from firstbreak.readers import Unreadable
from firstbreak.values import dataclass, field

SECTION = "experiment"
IN_TRIAL = "{folder}"  #: as `directory`: each trial is started in its own folder


@dataclass(frozen=True, kw_only=True)
class TrialLimits:
    """The limits of trials. None: no limit."""

    minutes: float | None = None  #: of one trial
    disk_gb: float | None = None  #: size of one trial's folder
    steps: float | None = None  #: of one trial
    cost: float | None = None  #: of all trials
    rate: float | None = None  #: cost of an hour of one trial
    retries: int = 0  #: of a trial that fails, or whose machine is lost


@dataclass(frozen=True, kw_only=True)
class ExperimentSettings:
    """The section [experiment], after all checks. See the docstring of this module."""

    command: tuple[str, ...] = ()  #: empty: not known, so that a plan can be made and no trial started
    directory: Path = field(default_factory=Path.cwd)
    logs: str = "{folder}"
    checkpoints: Path | None = None
    syntax: str | None = None
    config: Path | None = None
    hooks: bool | None = None  #: None: true for trainers that the hooks support
    complete: bool = False  #: the script has only the options in `options`
    options: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    now: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    values: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    environment: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    limits: TrialLimits = field(default_factory=TrialLimits)

    @property
    def in_trial(self) -> bool:
        """Whether each trial is started in its own folder."""
        return str(self.directory) == IN_TRIAL


def load(path: Path) -> ExperimentSettings:
    """The section [experiment] of a TOML file. Raises `Unreadable` with the problem and its remedy."""
    try:
        section = tomllib.loads(path.read_text("utf-8"))[SECTION]
    except FileNotFoundError:
        raise Unreadable(
            path, "no such file", "`firstbreak experiment init SCRIPT` writes it, with the options of your script"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(path, f"is not valid TOML ({error})", "correct this place in the file") from None
    except KeyError:
        raise Unreadable(
            path, f"has no section [{SECTION}]", "add this section with a `command`; see docs/experiments.md"
        ) from None
    return parse(section, path)


def parse(section: Mapping[str, Any], path: Path) -> ExperimentSettings:
    """Settings from the section as TOML has it; relative paths are relative to the file's folder."""

    def wrong(problem: str, remedy: str) -> Unreadable:
        return Unreadable(path, problem, remedy, f"[{SECTION}]")

    known = {f.name for f in fields(ExperimentSettings)}
    for name in section.keys() - known:
        raise wrong(f"{name!r} is not a setting", f"use one of: {', '.join(sorted(known))}")
    if not isinstance(section.get("command"), str) or not section["command"].strip():
        raise wrong(
            "no `command`",
            'add the command that starts the training, for example command = "python train.py {overrides}"',
        )
    limits = section.get("limits", {})
    for name, value in limits.items():
        if name not in {f.name for f in fields(TrialLimits)}:
            raise wrong(f"{name!r} is not a limit", f"use one of: {', '.join(f.name for f in fields(TrialLimits))}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise wrong(f"limits.{name} is {value!r}", "give a number of at least 0")
    for name in (*section.get("options", {}), *section.get("now", {})):
        if name not in HYPERPARAMETERS and name not in INTERVENTIONS and name != "resume_from":
            raise wrong(f"{name!r} is not a hyperparameter", "`firstbreak explain hyperparameters` lists all")
    home = path.resolve().parent
    try:
        command = tuple(shlex.split(section["command"]))
    except ValueError as error:
        raise wrong(f"the command cannot be split into words ({error})", "add the missing quotation mark") from None
    own = {
        **section,
        **{name: home / section[name] for name in ("checkpoints", "config") if name in section},
        "command": command,
        "directory": home / section.get("directory", ".") if section.get("directory") != IN_TRIAL else Path(IN_TRIAL),
        "environment": {name: str(value) for name, value in section.get("environment", {}).items()},
        "limits": TrialLimits(**limits),
    }
    return ExperimentSettings(**own)


#: Changes without an option in most trainers: made inside the trainer's process (live/hooks/), or by an option of the user.
INTERVENTIONS: Mapping[str, str] = {
    "reward": "negated, shuffled (within each group), toy (an easy reward), shorter (with a penalty on length)",
    "data": "test (the evaluation's problems), one (a single prompt), few (64 prompts)",
    "policy": "frozen (only the critic learns)",
    "watch": "reward (known answers are also scored), data (prompts of training and evaluation are compared), weights (of "
    "trainer, engine and evaluation are compared), environment (effects of actions; advantages are computed again), "
    "process (learning rates of the optimizers, settings in force, processor, memory)",
}
