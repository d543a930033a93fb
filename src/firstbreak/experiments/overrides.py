"""Canonical options in each trainer's own syntax.

An override is a value (`0.99`), a change of the current value (`"/10"`, `"x4"`), or a value from the user (`"@test_set"`, from
the section `[experiment.values]`).
"""

import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from typing import Any

import yaml

from firstbreak.dialects.hyperparameters import own_option, relative, spoken
from firstbreak.engine.common_settings import set_to
from firstbreak.experiments.settings import INTERVENTIONS, ExperimentSettings
from firstbreak.model import EMPTY, Run
from firstbreak.readers._script import changed
from firstbreak.values import dataclass, field

Pairs = Sequence[tuple[str, Any]]
HOOK = "FIRSTBREAK_INTERVENE"  #: variable with the interventions for the hooks in the trainer's process
HOOKED = frozenset({"trl", "sb3"})  #: dialects of the trainers that live/hooks supports


class CannotOverride(Exception):
    """The experiment cannot be run here. The message says what is missing and where to set it."""


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """Overrides in the form of the trainer: words of the command line, environment variables, and files by name."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def resolve(overrides: Mapping[str, Any], run: Run, settings: ExperimentSettings) -> dict[str, Any]:
    """The overrides as plain values. Raises `CannotOverride` if the current value or the user's value is unknown."""
    return {name: _value(name, wanted, run, settings) for name, wanted in overrides.items()}


def _value(name: str, wanted: Any, run: Run, settings: ExperimentSettings) -> Any:
    if not isinstance(wanted, str):
        return wanted
    if wanted.startswith("@"):
        if wanted[1:] not in settings.values:
            raise CannotOverride(f"needs `{wanted[1:]}` in [experiment.values]")
        return settings.values[wanted[1:]]
    value = relative(name, wanted, in_force(name, run, settings))
    if value is None:
        raise CannotOverride(f"the run does not log {name}; set {name} in [experiment.now]")
    return value


def in_force(name: str, run: Run, settings: ExperimentSettings) -> float | None:
    """The value in use: from the settings, from the run's configuration or its curve, or the trainer's default."""
    given = settings.now.get(name)
    return float(given) if isinstance(given, int | float) else set_to(run, name)


def render(
    values: Mapping[str, Any],
    run: Run,
    settings: ExperimentSettings,
    own: Mapping[str, Any] = EMPTY,
    inside: Mapping[str, Any] = EMPTY,
) -> Rendered:
    """Plain values (`values`) and options with the trainer's own names (`own`) in the form of the trainer.

    `inside` has more values for the hooks. Raises `CannotOverride` if the trainer does not have an option.
    """
    values = _with_test_set(values, run, settings)
    done = {name: value for name, value in values.items() if name in INTERVENTIONS and name not in settings.options}
    if done and not hooked(run, settings):
        names = ", ".join(f"{name} = {value}" for name, value in done.items())
        raise CannotOverride(
            f"{names}: this trainer has no option for it; name one in [experiment.options], or set hooks = true"
        )
    named = {name: option(name, run, settings) for name in values if name not in done}
    options = [(key, spoken(name, key, values[name])) for name, key in named.items()]
    rendered = _syntax(run, settings)([*options, *own.items()], settings)
    acts = {**done, **inside}
    hook = {HOOK: json.dumps(acts)} if acts else {}
    return Rendered(arguments=rendered.arguments, environment={**rendered.environment, **hook}, files=rendered.files)


def _with_test_set(values: Mapping[str, Any], run: Run, settings: ExperimentSettings) -> Mapping[str, Any]:
    """`data = test` as the test set in place of the training data, where these are an option of the trainer or the script.

    The test set is that of [experiment.values], else the evaluation's data in the run's configuration. Raises `CannotOverride`
    where neither is known, or where the trainer has the same data for both.
    """
    if values.get("data") != "test":
        return values
    given, own = settings.values.get("test_set"), settings.options.get("data")
    dataset = run.config.get("dataset")
    trained = settings.options.get("dataset") or run.config.keys.get("dataset")
    if own is not None and own != trained:
        return {**values, "data": given or "test"}
    if own is None and (trained is None or (hooked(run, settings) and (given is None or not dataset))):
        return values  # the hooks exchange the data
    test_set = given or run.config.get("eval_dataset")
    if test_set is None or test_set == dataset:
        same = "the run does not record it" if test_set is None else "training and evaluation name the same data"
        raise CannotOverride(f"needs `test_set` in [experiment.values], the evaluation's problems: {same}")
    return {name: value for name, value in values.items() if name != "data"} | {"data" if own else "dataset": test_set}


def hooked(run: Run, settings: ExperimentSettings) -> bool:
    """Whether the hooks run inside the trainer's process."""
    return run.trainer in HOOKED if settings.hooks is None else settings.hooks


def option(name: str, run: Run, settings: ExperimentSettings) -> str:
    """The trainer's name of a canonical hyperparameter. Raises `CannotOverride` if the name is unknown."""
    if name in settings.options:
        return settings.options[name]
    if settings.complete:
        raise CannotOverride(f"the command has no option for {name}; if there is one, name it in [experiment.options]")
    key = own_option(name, run)
    if key is None and run.trainer is None and not settings.command:
        key = run.config.keys.get(name)  # a plan: `init` will name the script's own options
    if key is None:
        trainer = run.trainer or "this trainer"
        raise CannotOverride(f"{trainer} has no known option for {name}; name it in [experiment.options]")
    prefixes = _PREFIXES.get(run.trainer or "", {}).items()
    return next((prefix for start, prefix in prefixes if key.startswith(start)), "") + key


#: dialect -> full prefixes of options, if the run's configuration did not contain them
_PREFIXES = {"verl": {"actor.": "actor_rollout_ref.", "rollout.": "actor_rollout_ref."}}


# --- syntaxes --------------------------------------------------------------------------------------------------------


def _syntax(run: Run, settings: ExperimentSettings) -> Callable[[Pairs, ExperimentSettings], Rendered]:
    name = settings.syntax or SYNTAX_OF.get(run.trainer or "")
    if name is None:
        raise CannotOverride(f"the syntax of {run.trainer or 'this trainer'} is unknown; set `syntax` in [experiment]")
    if name in SYNTAXES:
        return SYNTAXES[name]
    if "{option}" not in name or "{value}" not in name:
        raise CannotOverride(
            f"syntax {name!r} is unknown: use one of {', '.join(SYNTAXES)}, or a template with {{option}} and {{value}}"
        )
    return _template(name)


def _template(template: str) -> Callable[[Pairs, ExperimentSettings], Rendered]:
    words = shlex.split(template)
    return lambda options, settings: Rendered(
        arguments=tuple(w.replace("{option}", o).replace("{value}", _word(v)) for o, v in options for w in words)
    )


def _word(value: Any) -> str:
    """A value as one word that YAML, hydra and argparse read in the same way."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "null"
        case float():
            return repr(value)
        case str() | int():
            return str(value)
        case _:
            return json.dumps(value)


def _zoo(options: Pairs, settings: ExperimentSettings) -> Rendered:
    """rl-baselines3-zoo: a few command-line options, and all others after `--hyperparams`, in Python syntax."""
    own = {"n_timesteps": "--n-timesteps", "total_timesteps": "--n-timesteps", "seed": "--seed", "env_id": "--env",
           "eval_freq": "--eval-freq", "save_freq": "--save-freq", "log_interval": "--log-interval",
           "trained_agent": "-i"}  # fmt: skip
    own |= {name: name for name, _ in options if name.startswith("--")}
    words = [word for name, value in options if name in own for word in (own[name], _word(value))]
    others = {name: f"{name}:{value!r}" for name, value in options if name not in own}
    if others:  # the last --hyperparams replaces the one of the command
        others = {word.partition(":")[0]: word for word in _hyperparams(settings.command)} | others
    return Rendered(arguments=(*words, *(["--hyperparams", *others.values()] if others else ())))


def _hyperparams(command: Sequence[str]) -> list[str]:
    """What a command of rl-baselines3-zoo gives after `--hyperparams`."""
    at = next((i for i, word in enumerate(command) if word in ("-params", "--hyperparams")), len(command))
    return list(takewhile(lambda word: not word.startswith(("-", "{")), command[at + 1 :]))


def _yaml(options: Pairs, settings: ExperimentSettings) -> Rendered:
    """A changed copy of the user's configuration file, for {config} in the command."""
    if settings.config is None:
        raise CannotOverride("syntax yaml needs `config` in [experiment]: your configuration file")
    content = yaml.safe_load(settings.config.read_text("utf-8")) or {}
    for name, value in options:
        _put(content, name.split("."), value)
    return Rendered(files={config_file(settings): yaml.safe_dump(content, sort_keys=False)})


def config_file(settings: ExperimentSettings) -> str:
    """The name of the changed copy of the configuration file, or of the script, in a trial's folder."""
    return settings.config.name if settings.config and settings.config.suffix == ".py" else "config.yaml"


def _source(options: Pairs, settings: ExperimentSettings) -> Rendered:
    """A changed copy of the script, for {config} in the command: for scripts without options."""
    if settings.config is None:
        raise CannotOverride("syntax source needs `config` in [experiment]: your script")
    try:
        copy = changed(settings.config.read_text("utf-8"), settings.config, dict(options))
    except KeyError as error:
        raise CannotOverride(f"{settings.config.name} has no place called {error.args[0]}") from None
    except (OSError, SyntaxError) as error:
        raise CannotOverride(f"{settings.config.name} cannot be changed ({error})") from None
    path = os.pathsep.join(filter(None, [str(settings.config.resolve().parent), os.environ.get("PYTHONPATH")]))
    return Rendered(files={config_file(settings): copy}, environment={"PYTHONPATH": path})


def _json(options: Pairs, settings: ExperimentSettings) -> Rendered:
    """One word with JSON, as in the command lines of RLlib and Tune."""
    content: dict[str, Any] = {}
    for name, value in options:
        _put(content, name.split("."), value)
    return Rendered(arguments=(json.dumps(content),))


def _put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a nested key. If the file contains the dotted key itself, this key is set."""
    if ".".join(path) in tree or len(path) == 1:
        tree[".".join(path)] = value
        return
    branch = tree.setdefault(path[0], {})
    if not isinstance(branch, dict):
        raise CannotOverride(f"{path[0]} holds no options in the configuration file")
    _put(branch, path[1:], value)


SYNTAXES: Mapping[str, Callable[[Pairs, ExperimentSettings], Rendered]] = {
    # `--learning_rate 1e-06`: TRL and everything that uses HfArgumentParser, OpenRLHF, CleanRL, slime
    "flags": lambda options, _: Rendered(
        arguments=tuple(w for o, v in options for w in (o if o.startswith("-") else f"--{o}", _word(v)))
    ),
    "hydra": _template("{option}={value}"),  # `actor.optim.lr=1e-06`: verl, AReaL, SkyRL, NeMo RL
    "zoo": _zoo,
    "yaml": _yaml,
    "source": _source,
    "json": _json,
    "environment": lambda options, _: Rendered(  # `LEARNING_RATE=1e-06`
        environment={re.sub(r"\W", "_", name.lstrip("-")).upper(): _word(value) for name, value in options}
    ),
}
#: dialect -> syntax of its command line
SYNTAX_OF: Mapping[str, str] = {
    **dict.fromkeys(("trl", "openrlhf", "cleanrl", "slime", "open_instruct", "prime_rl", "sample_factory"), "flags"),
    **dict.fromkeys(("verl", "areal", "skyrl", "nemo_rl"), "hydra"),
    **dict.fromkeys(("roll", "llamafactory"), "yaml"),
    "rllib": "json",
    "sb3": "zoo",
}
