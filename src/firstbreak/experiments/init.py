"""Writes the section [experiment] for a script that was never prepared for it: `firstbreak experiment init`."""

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from firstbreak.dialects import dialects
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS, own_option, plain, recorded_as
from firstbreak.experiments import supervisor
from firstbreak.experiments.settings import SECTION
from firstbreak.model import Run
from firstbreak.readers import Unreadable
from firstbreak.readers._script import FLAGS, HYDRA, SOURCE, ZOO, Script, ScriptOption, read_script
from firstbreak.values import dataclass

HELP_SECONDS = 180.0  #: for a script to print its options: importing a trainer takes a while
#: how scripts call hyperparameters, besides the names of the trainers
SPELLINGS: Mapping[str, str] = {
    **dict.fromkeys(("steps", "num_updates", "n_updates", "iterations", "num_iterations", "n_iters", "max_iters", "stop_iters",
                     "total_iters", "n_timesteps", "num_train_steps", "train_steps", "total_env_steps", "max_timesteps",
                     "timesteps", "updates", "num_steps_total"), "total_steps"),
    **dict.fromkeys(("lr", "learning_rate", "step_size", "alpha"), "learning_rate"),
    **dict.fromkeys(("discount", "discount_factor"), "gamma"),
    **dict.fromkeys(("batch", "bs", "train_batch_size"), "batch_size"),
    **dict.fromkeys(("eval_every", "eval_freq", "eval_interval"), "eval_interval"),
    **dict.fromkeys(("save_every", "save_freq", "save_interval"), "save_interval"),
    **dict.fromkeys(("rng_seed", "random_seed"), "seed"),
    **dict.fromkeys(("entropy_coeff", "entropy_weight"), "entropy_coef"),
    **dict.fromkeys(("resume", "resume_from_checkpoint", "load_checkpoint", "init_from"), "resume_from"),
}  # fmt: skip
#: places, tasks and names are not hyperparameters that an experiment changes
NOT_CHANGED = frozenset({"env_id", "dataset", "reference_model", "precision", "log_interval"})
_DATED = re.compile(r"\d{6,}|\d\d-\d\d")  #: a name with a date differs between trials


_PLACE = re.compile(r"(--?[\w-]+=)?\{(python|config|overrides)\}")  #: what is filled in for a trial
_ASSIGNED = re.compile(r"[A-Za-z_]\w*=.*")


@dataclass(frozen=True)
class Prepared:
    """What `init` writes, and what it says."""

    toml: str
    mapped: Mapping[str, str]  #: hyperparameter -> option
    left: tuple[str, ...]  #: options that are no known hyperparameter
    lacking: tuple[str, ...]  #: what a person must add, one line each
    script: Script


def prepare(words: Sequence[str], run: Run | None, home: Path) -> Prepared:
    """The section for a command that is started in the folder `home`. `words`: the command as a user types it, from the script on
    or with its launcher. Raises `Unreadable` if no word is a Python script."""
    at = next((i for i, word in enumerate(words) if word.endswith(".py")), None)
    if at is None:
        raise Unreadable(shlex.join(words), "names no Python script", "name it: firstbreak experiment init train.py")
    path = (home / words[at]).resolve()
    launcher, arguments = _launcher(words[:at]), list(words[at + 1 :])
    script = read_script(path, lambda: _help(path, home), _configurations(arguments, home))
    mapped = options_of(script, run)
    values = _values(script, words)
    source, changed = script.syntax == SOURCE, path if script.syntax == SOURCE else script.config
    seen = [_anywhere(word, home, run) for word in arguments]
    command = [*launcher, "{config}" if source else str(path), *seen]
    if changed is not None:  # a trial gets a changed copy of the script, or of the file that its command names
        command = [word.replace(str(changed.resolve()), "{config}") for word in command]
        command += [f"--{script.config_option}", "{config}"] if script.config_option else []
    else:
        command += _inputs(script, arguments, home)
        command.append("{overrides}")
    own: dict[str, Any] = {
        "command": " ".join(w if _PLACE.fullmatch(w) else shlex.quote(w) for w in command),
        "directory": "{folder}",
        "logs": _logs(run, home),
        "syntax": script.syntax,
        "complete": True,
    }
    if changed is not None:
        own["config"] = os.path.relpath(changed, home)
    known = {n: v for n, v in (run.config.values if run else {}).items() if run and n not in run.config.defaulted}
    total = mapped.get("total_steps", "")
    if total in script.options and "epoch" in total.lower():  # the run may record its length in steps
        known.pop("total_steps", None)
    now = {n: v for n, o in mapped.items() if n not in known and type(v := plain(values.get(o))) in (int, float)}
    lacking = () if "total_steps" in mapped else (
        'total_steps = "..."   under [experiment.options]: the option that sets the length of training',
    )  # fmt: skip
    shown = {option.rpartition(".")[2] if source else option for option in mapped.values()}
    left = tuple(n for n in script.options if n not in mapped.values() and n.rpartition(".")[2] not in shown)
    # with rl-zoo, what is no option of the command line is a hyperparameter of the trainer
    zoo = script.syntax == ZOO
    written = {n: f"--{o}" if zoo and o in script.options else o for n, o in mapped.items()}
    limits = {"minutes": 30}
    toml = _toml({SECTION: own, f"{SECTION}.options": written, f"{SECTION}.now": now, f"{SECTION}.limits": limits})
    return Prepared(toml, mapped, left, lacking, script)


def _launcher(words: Sequence[str]) -> list[str]:
    """What starts the script: this Python, unless the words name another launcher. `LR=0.1` before it is for the environment."""
    given = [word for word in words if _ASSIGNED.fullmatch(word)]
    others = [word for word in words if word not in given]
    started = ["{python}"] if others in ([], ["python"], ["python3"]) else others
    return ["env", *given, *started] if given else started


def _configurations(arguments: Sequence[str], home: Path) -> list[Path]:
    """The YAML files that a command names."""
    named = [(home / word.rpartition("=")[2]).resolve() for word in arguments if word.endswith((".yaml", ".yml"))]
    return [file for file in named if file.is_file()]


def options_of(script: Script, run: Run | None) -> dict[str, str]:
    """Hyperparameter -> the script's option. What the script hands to the trainer says more than how it calls it."""
    trainer = (run.trainer if run else None) or script.dialect
    own, plain_names = ({**getattr(dialects().get(name), "CONFIG", {})} for name in (trainer or "", "generic"))
    # the trainer's meaning of a name comes before ours: Stable-Baselines3's batch_size is one optimizer step
    tables = (own, {name: name for name in HYPERPARAMETERS}, plain_names)
    found: dict[str, str] = {}
    for table in tables:
        options = [*script.options.values()][::-1]  # of two with one name, the first counts
        arguments = {a: option.name for option in options for a in option.given_to[::-1]}
        names = {(o.name.rpartition(".")[2] if script.syntax == SOURCE else o.name): o.name for o in options}
        for spoken in (arguments, names, {n.lower(): o for n, o in names.items()}):
            for name, key in recorded_as(spoken, table).items():
                if name not in found and spoken[key] not in found.values():
                    found[name] = spoken[key]
    for option in script.options:
        spelled = SPELLINGS.get(option.rpartition(".")[2].lstrip("-").replace("-", "_").lower())
        if spelled and spelled not in found and option not in found.values():
            found[spelled] = option
    if run is not None and script.syntax in (SOURCE, ZOO):
        found |= {n: o for n, o in _of_trainer(script, run) if n not in found}
    if "total_steps" not in found and "total_epochs" in found:  # what sets the length of training
        found["total_steps"] = found.pop("total_epochs")
    return {
        name: found[name]
        for name in (*HYPERPARAMETERS, "resume_from")
        if name in found and name not in NOT_CHANGED and _takes(name, script.options.get(found[name]))
    }


def _takes(name: str, option: ScriptOption | None) -> bool:
    """Whether an option can be this hyperparameter: `--target c` is no target of a divergence."""
    unit = HYPERPARAMETERS[name].unit if name in HYPERPARAMETERS else ""
    return unit in ("", "yes or no") or option is None or not isinstance(plain(option.value), str)


def _of_trainer(script: Script, run: Run) -> Iterator[tuple[str, str]]:
    """Settings in force in the run that the script leaves to the trainer: its call, or rl-zoo's `--hyperparams`, takes them."""
    recorded = {key.rpartition(".")[2] for key in run.config.raw}  # what follows from others is no option
    for name in HYPERPARAMETERS:
        key = own_option(name, run) if name in run.config.values and run.trainer else None
        if key is not None and name not in ("n_envs", "seed", "total_steps", "model", "dataset") and key.isidentifier():
            if script.syntax == ZOO:
                yield name, key
            elif script.constructor and key in recorded:
                yield name, f"{script.constructor}.{key}"


def _values(script: Script, words: Sequence[str]) -> dict[str, Any]:
    """Option -> its value: as given by the words of the command, or its default. `LR=0.1` before a script without options is the
    value of a variable of the environment."""
    values = {name: option.value for name, option in script.options.items()}
    names = {name.lstrip("-").replace("-", "_"): name for name in script.options}
    assigned = script.syntax in (HYDRA, SOURCE)
    for word, following in pairwise([*words, ""]):
        name, equals, value = word.partition("=")
        key = names.get(name.lstrip("-+").replace("-", "_"))
        if key and assigned == (not word.startswith("-")) and (equals or not assigned):
            values[key] = value if equals else following
    return values


def _anywhere(word: str, home: Path, run: Run | None) -> str:
    """A word that names something that lies there, as seen from anywhere; an absolute place of the run, in the trial's folder."""
    option, equals, value = word.rpartition("=")
    place = home / value if value else home
    if run is not None and value and Path(value).is_absolute() and place.resolve() in _upwards(run):
        return f"{option}{equals}{{folder}}/{place.name}"
    if value and not value.startswith("-") and place.exists() and (run is None or place.resolve() not in _upwards(run)):
        return f"{option}{equals}{place.resolve()}"
    return word


def _upwards(run: Run) -> set[Path]:
    place = Path(run.path).resolve()
    return {place, *place.parents}


def _inputs(script: Script, arguments: Sequence[str], home: Path) -> Iterator[str]:
    """Defaults of options that name a file that lies there: a trial starts in another folder."""
    if script.syntax == FLAGS:
        for name, option in script.options.items():
            given = any(w.partition("=")[0].lstrip("-") == name for w in arguments)
            if isinstance(option.value, str) and option.value and not given and (home / option.value).is_file():
                yield from (f"--{name}", str((home / option.value).resolve()))


def _logs(run: Run | None, home: Path) -> str:
    """Where a trial writes what the run has: a trial starts in its own folder, so a relative place is the same one there."""
    if run is None:
        return "{folder}"
    place = Path(run.path).resolve()
    if not place.is_relative_to(home.resolve()):
        return f"{{folder}}/{place.name}"
    below = place.relative_to(home.resolve())
    parts = list(below.parts)
    while parts and _DATED.search(parts[-1]):
        parts.pop()
    return "/".join(["{folder}", *parts])


def _help(path: Path, home: Path) -> str:
    """What the script prints for --help. Empty if it fails or takes too long."""
    try:
        done = subprocess.run(
            [sys.executable, str(path), "--help"], cwd=home, capture_output=True, text=True, timeout=HELP_SECONDS,
            stdin=subprocess.DEVNULL, env={**os.environ, "COLUMNS": "100"},
            preexec_fn=partial(supervisor.die_with, os.getpid()) if os.name == "posix" else None,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _toml(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """Strings, numbers and yes or no, which JSON and TOML write in the same way."""
    return "\n".join(
        "\n".join([f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in rows.items())]) + "\n"
        for name, rows in sections.items()
        if rows
    )
