"""Canonical options in each trainer's own syntax.

An override is a value (`0.99`), a change of what is in force (`"/10"`, `"x4"`), or a value that only the user knows
(`"@test_set"`, from the section `[experiment.values]`).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from firstbreak.experiments.settings import INTERVENTIONS, Settings
from firstbreak.hyperparameters import HYPERPARAMETERS
from firstbreak.model import EMPTY, Config, Run

Pairs = Sequence[tuple[str, Any]]
CONFIG_FILE = "config.yaml"  #: in the trial's folder
HOOK = "FIRSTBREAK_INTERVENE"  #: tells the hooks in the trainer's process what to do
HOOKED = frozenset({"trl", "sb3"})  #: dialects whose trainers the hooks in inside/ know
#: units of options that are counts
WHOLE = frozenset({"count", "steps", "samples", "tokens", "turns", "epochs", "environment steps", "policy versions"})
_RELATIVE = re.compile(r"([/x])\s*(\d+(?:\.\d+)?)")


class CannotOverride(Exception):
    """An experiment cannot be made here; the message says what is missing and where to say it."""


@dataclass(frozen=True, kw_only=True)
class Rendered:
    """What a set of overrides comes to: words of the command line, variables, and files by their name."""

    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)


def resolve(overrides: Mapping[str, Any], config: Config, settings: Settings) -> dict[str, Any]:
    """The overrides as plain values. Raises `CannotOverride` where the value in force or the user's value is not known."""
    return {name: _value(name, wanted, config, settings) for name, wanted in overrides.items()}


def _value(name: str, wanted: Any, config: Config, settings: Settings) -> Any:
    if not isinstance(wanted, str):
        return wanted
    if wanted.startswith("@"):
        if wanted[1:] not in settings.values:
            raise CannotOverride(f"it needs `{wanted[1:]}` in [experiment.values]")
        return settings.values[wanted[1:]]
    change = _RELATIVE.fullmatch(wanted)
    if change is None:
        return wanted
    now = in_force(name, config, settings)
    if now is None:
        raise CannotOverride(f"the run does not say its {name}; give it in [experiment.now]")
    factor = float(change[2])
    value = now / factor if change[1] == "/" else now * factor
    return max(1, round(value)) if HYPERPARAMETERS[name].unit in WHOLE else float(f"{value:.6g}")


def in_force(name: str, config: Config, settings: Settings) -> float | None:
    """The number in force: what the user says, what the run recorded, or the trainer's default."""
    said = settings.now.get(name)
    return float(said) if isinstance(said, int | float) else config.number(name)


def render(
    values: Mapping[str, Any],
    run: Run,
    settings: Settings,
    own: Mapping[str, Any] = EMPTY,
    inside: Mapping[str, Any] = EMPTY,
) -> Rendered:
    """Plain values as the trainer wants to be told, options by its own names, and what else its process is told if hooked.

    Raises `CannotOverride` where it has no such option.
    """
    done = {name: value for name, value in values.items() if name in INTERVENTIONS and name not in settings.options}
    if done and not hooked(run, settings):
        names = ", ".join(f"{name} = {value}" for name, value in done.items())
        raise CannotOverride(f"{names}: no option says it; name one in [experiment.options], or set hooks = true")
    told = [(option(name, run, settings), value) for name, value in values.items() if name not in done]
    rendered = _syntax(run, settings)([*told, *own.items()], settings)
    acts = {**done, **inside}
    hook = {HOOK: json.dumps(acts)} if acts else {}
    return Rendered(arguments=rendered.arguments, environment={**rendered.environment, **hook}, files=rendered.files)


def hooked(run: Run, settings: Settings) -> bool:
    """Whether interventions can act inside the trainer's process."""
    return run.trainer in HOOKED if settings.hooks is None else settings.hooks


def option(name: str, run: Run, settings: Settings) -> str:
    """What the trainer calls a canonical hyperparameter. Raises `CannotOverride` where it is not known."""
    if name in settings.options:
        return settings.options[name]
    if settings.complete:
        raise CannotOverride(f"the command has no option for {name}; name it in [experiment.options] if it has")
    if name not in run.config.keys:
        trainer = run.trainer or "this trainer"
        raise CannotOverride(f"{trainer} has no known option for {name}; name it in [experiment.options]")
    return _in_full(run.config.keys[name], run.trainer)


#: dialect -> how the options of its tables begin in full, where the run's own configuration did not say
_PREFIXES: Mapping[str, Mapping[str, str]] = {
    "verl": {"actor.": "actor_rollout_ref.", "rollout.": "actor_rollout_ref."},
}


def _in_full(key: str, trainer: str | None) -> str:
    for start, prefix in _PREFIXES.get(trainer or "", {}).items():
        if key.startswith(start):
            return prefix + key
    return key


# --- syntaxes --------------------------------------------------------------------------------------------------------


def _syntax(run: Run, settings: Settings) -> Callable[[Pairs, Settings], Rendered]:
    name = settings.syntax or SYNTAX_OF.get(run.trainer or "")
    if name is None:
        raise CannotOverride(
            f"the syntax of {run.trainer or 'this trainer'} is not known; set `syntax` in [experiment]"
        )
    if name in SYNTAXES:
        return SYNTAXES[name]
    if "{option}" not in name or "{value}" not in name:
        raise CannotOverride(
            f"syntax {name!r} is none of {', '.join(SYNTAXES)}, and no template with {{option}} and {{value}}"
        )
    return lambda told, settings: Rendered(arguments=_template(name, told))


def _template(template: str, told: Pairs) -> tuple[str, ...]:
    words = shlex.split(template)
    return tuple(w.replace("{option}", o).replace("{value}", _word(v)) for o, v in told for w in words)


def _word(value: Any) -> str:
    """A value as one word that YAML, hydra and argparse read alike."""
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


def _flags(told: Pairs, settings: Settings) -> Rendered:
    """`--learning_rate 1e-06`: TRL and everything that uses HfArgumentParser, OpenRLHF, CleanRL, slime."""
    return Rendered(arguments=tuple(word for name, value in told for word in (f"--{name.lstrip('-')}", _word(value))))


def _hydra(told: Pairs, settings: Settings) -> Rendered:
    """`actor.optim.lr=1e-06`: verl, AReaL, SkyRL, NeMo RL."""
    return Rendered(arguments=tuple(f"{name}={_word(value)}" for name, value in told))


def _zoo(told: Pairs, settings: Settings) -> Rendered:
    """rl-baselines3-zoo: a few options of its own, and everything else after `--hyperparams`, in Python's notation."""
    own = {"n_timesteps": "--n-timesteps", "total_timesteps": "--n-timesteps", "seed": "--seed", "env_id": "--env",
           "eval_freq": "--eval-freq", "save_freq": "--save-freq", "log_interval": "--log-interval",
           "trained_agent": "-i"}  # fmt: skip
    words = [word for name, value in told if name in own for word in (own[name], _word(value))]
    others = [f"{name}:{value!r}" for name, value in told if name not in own]
    return Rendered(arguments=(*words, *(["--hyperparams", *others] if others else ())))


def _yaml(told: Pairs, settings: Settings) -> Rendered:
    """A changed copy of the user's configuration file, which the command gets as {config}."""
    if settings.config is None:
        raise CannotOverride("syntax yaml needs `config` in [experiment]: the file to change a copy of")
    content = yaml.safe_load(settings.config.read_text("utf-8")) or {}
    for name, value in told:
        _put(content, name.split("."), value)
    return Rendered(files={CONFIG_FILE: yaml.safe_dump(content, sort_keys=False)})


def _json(told: Pairs, settings: Settings) -> Rendered:
    """One word of JSON, as RLlib's and Tune's command lines take a configuration."""
    content: dict[str, Any] = {}
    for name, value in told:
        _put(content, name.split("."), value)
    return Rendered(arguments=(json.dumps(content),))


def _environment(told: Pairs, settings: Settings) -> Rendered:
    """`LEARNING_RATE=1e-06`."""
    return Rendered(environment={re.sub(r"\W", "_", name.lstrip("-")).upper(): _word(value) for name, value in told})


def _put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a nested key; a file that has the dotted key itself keeps it flat."""
    if ".".join(path) in tree or len(path) == 1:
        tree[".".join(path)] = value
        return
    branch = tree.setdefault(path[0], {})
    if not isinstance(branch, dict):
        raise CannotOverride(f"{path[0]} holds no options in the configuration file")
    _put(branch, path[1:], value)


SYNTAXES: Mapping[str, Callable[[Pairs, Settings], Rendered]] = {
    "flags": _flags,
    "hydra": _hydra,
    "zoo": _zoo,
    "yaml": _yaml,
    "json": _json,
    "environment": _environment,
}
#: dialect -> syntax of its command line
SYNTAX_OF: Mapping[str, str] = {
    **dict.fromkeys(("trl", "openrlhf", "cleanrl", "slime", "open_instruct", "prime_rl", "sample_factory"), "flags"),
    **dict.fromkeys(("verl", "areal", "skyrl", "nemo_rl"), "hydra"),
    **dict.fromkeys(("roll", "llamafactory"), "yaml"),
    "rllib": "json",
    "sb3": "zoo",
}
