"""How the user's training is started: the section `[experiment]` of `firstbreak.toml`.

    [experiment]
    command = "python train.py {overrides} --output_dir {folder}/run"
    directory = "."              # where the command is started, relative to this file
    logs = "{folder}/run"        # where the trainer writes its metrics
    checkpoints = "saved/ppo"    # where the original run's lie, if not with its log; relative to this file
    syntax = "flags"             # flags, hydra, zoo, yaml, json, environment, or a template like "--set {option}={value}";
                                 # the trainer's own where it is left out
    config = "train.yaml"        # with syntax yaml: {config} becomes a changed copy of this file
    hooks = true                 # the command runs Python on which interventions may act (see inside/)

    complete = true              # the script knows the options listed below and no others

    [experiment.options]         # this script's own names, where they differ from the trainer's
    learning_rate = "lr"
    resume_from = "init"         # goes on from a checkpoint: late faults are looked for from the last one before them
    [experiment.now]             # values in force that the run did not record
    learning_rate = 1e-5
    [experiment.values]          # what only the user knows
    test_set = "data/test.parquet"
    small_model = "Qwen/Qwen3-0.6B"
    [experiment.environment]
    WANDB_MODE = "offline"
    [experiment.limits]
    minutes = 30                 # of one trial
    disk_gb = 5                  # that one trial may write
    steps = 500                  # most steps of one trial
    cost = 20                    # of all trials together, in the unit of `rate`
    rate = 2.5                   # cost of an hour of one trial
    retries = 1                  # a trial that fails is started again

`{folder}` is the trial's own folder, `{overrides}` the rendered options, `{config}` the changed configuration file and
`{python}` the interpreter that runs firstbreak. Nothing is run through a shell.
"""

from __future__ import annotations

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from firstbreak.hyperparameters import HYPERPARAMETERS
from firstbreak.model import EMPTY
from firstbreak.readers import Unreadable

FILE = "firstbreak.toml"
SECTION = "experiment"


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What trials may use. None: no limit."""

    minutes: float | None = None  #: of one trial
    disk_gb: float | None = None  #: written into one trial's folder
    steps: float | None = None  #: of one trial
    cost: float | None = None  #: of all trials together
    rate: float | None = None  #: cost of an hour of one trial
    retries: int = 0  #: of a trial that fails or loses its machine


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The section, checked. See the top of this module."""

    command: tuple[str, ...]
    directory: Path = field(default_factory=Path.cwd)
    logs: str = "{folder}"
    checkpoints: Path | None = None
    syntax: str | None = None
    config: Path | None = None
    hooks: bool | None = None  #: None: as far as the trainer is known to be hooked
    complete: bool = False  #: there are no other options than those in `options`
    options: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    now: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    values: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    environment: Mapping[str, str] = field(default_factory=lambda: EMPTY)
    limits: Limits = field(default_factory=Limits)


def load(path: Path) -> Settings:
    """The section of a TOML file. Raises `Unreadable` with the place and the remedy."""
    try:
        section = tomllib.loads(path.read_text("utf-8"))[SECTION]
    except FileNotFoundError:
        raise Unreadable(
            path, "no such file", f"write a section [{SECTION}] with a `command`; see docs/experiments.md"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise Unreadable(path, f"is no TOML ({error})", "correct it there") from None
    except KeyError:
        raise Unreadable(
            path, f"has no section [{SECTION}]", "add one with a `command`; see docs/experiments.md"
        ) from None
    return parse(section, path)


def parse(section: Mapping[str, Any], path: Path) -> Settings:
    """Settings from the section as TOML has it; relative paths are relative to the file's folder."""

    def wrong(problem: str, remedy: str) -> Unreadable:
        return Unreadable(path, problem, remedy, f"[{SECTION}]")

    known = {f.name for f in fields(Settings)}
    for name in section.keys() - known:
        raise wrong(f"{name!r} is no setting", f"these are: {', '.join(sorted(known))}")
    if not isinstance(section.get("command"), str) or not section["command"].strip():
        raise wrong(
            "no `command`", 'give the command that starts the training, as in command = "python train.py {overrides}"'
        )
    limits = section.get("limits", {})
    for name, value in limits.items():
        if name not in {f.name for f in fields(Limits)}:
            raise wrong(f"{name!r} is no limit", f"these are: {', '.join(f.name for f in fields(Limits))}")
        if isinstance(value, bool) or not isinstance(value, int | float) or value < 0:
            raise wrong(f"limits.{name} is {value!r}", "give a number of at least 0")
    for name in (*section.get("options", {}), *section.get("now", {})):
        if name not in HYPERPARAMETERS and name not in INTERVENTIONS and name != "resume_from":
            raise wrong(f"{name!r} is no hyperparameter", "`firstbreak explain` lists them")
    home = path.resolve().parent
    try:
        command = tuple(shlex.split(section["command"]))
    except ValueError as error:
        raise wrong(f"the command cannot be split into words ({error})", "close its quotation marks") from None
    return Settings(
        command=command,
        directory=home / section.get("directory", "."),
        logs=section.get("logs", "{folder}"),
        checkpoints=home / section["checkpoints"] if "checkpoints" in section else None,
        syntax=section.get("syntax"),
        config=home / section["config"] if "config" in section else None,
        hooks=section.get("hooks"),
        complete=section.get("complete", False),
        options=section.get("options", EMPTY),
        now=section.get("now", EMPTY),
        values=section.get("values", EMPTY),
        environment={name: str(value) for name, value in section.get("environment", {}).items()},
        limits=Limits(**limits),
    )


#: What no option of a trainer says: done inside the trainer's process (inside/), or by an option that the user names.
INTERVENTIONS: Mapping[str, str] = {
    "reward": "negated, shuffled (within each group), toy (easy, monotone), shorter (minus more than characters earn)",
    "data": "test (the evaluation's problems), one (a single prompt)",
    "policy": "frozen (only the critic learns)",
    "watch": "reward (known answers are scored as well), data (training's prompts are compared with the evaluation's), "
    "weights (trainer's are compared with the engine's and the evaluation's), environment (what actions do; advantages are "
    "worked out again), process (optimizers' rates, settings in force, processor, memory)",
}
