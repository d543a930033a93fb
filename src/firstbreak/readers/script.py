"""The Python script beside a log, read as text: the settings that it gives to its trainer. Nothing of it is imported or run.

A setting is a literal that stands once: a constant, an entry of a dictionary of settings, a keyword argument of a trainer's own
class, of a configuration class or of an optimizer, or the default of an option. What a log or a configuration file says of
the same setting counts before it. Of several scripts in one folder none is read: which of them wrote the log is not known.
"""

import ast
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from firstbreak.dialects.hyperparameters import TRAINING_WRAPPERS
from firstbreak.patterns import pattern
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._script import MAX_BYTES, ScriptOption, imported_from_trainers, name_of, settings_in
from firstbreak.readers.opening import read_whole

DESCRIPTION = "the training script beside a log, as text: arguments of trainers, configuration classes and optimizers"
FILES = ("*.py",)
BESIDE = True
FALLBACK = True
PRIORITY = -20
MAX_SCRIPTS = 20  #: of a folder that are looked at

_TRAINS = pattern(r"\.backward\(|\.(?:learn|train|fit)\(|value_and_grad\(|GradientTape\(")
#: calls whose keyword arguments are settings of the training, beside those of a trainer's package
_CALLS = pattern(
    r"\w*(?:Config|Configuration|Args|Arguments|Settings)|(?:Adam|AdamW|SGD|RMSprop|NAdam|RAdam|Adafactor|Lion)|adamw?|rmsprop"
    r"|learn|training|env_runners|rollouts|make_vec_env|VecNormalize|GAE|ReplayBuffer\w*|LoraConfig"
)
_DICTIONARY = pattern(r"\w*(?:config|cfg|args|params|kwargs|settings|options|defaults|hp)\w*", re.IGNORECASE)
#: wrappers that change what a policy sees or does; what only records is none
_WRAPPER = pattern(
    r"(?:Normalize|Rescale|Transform|Flatten|Gr[ae]yScale|Resize|FrameS|Vec(?:Normalize|FrameStack|Transpose))\w*"
)
_EVALUATION = pattern(r"eval|test|valid", re.IGNORECASE)
_MAKERS = frozenset({"make", "make_vec", "make_vec_env", "make_atari_env", "DummyVecEnv", "SubprocVecEnv"})
#: arguments of Stable-Baselines3's classes that other loops use in another sense
_MEANT = {"batch_size": "minibatch_size"}
#: what a call in a loop makes begin again
_AGAIN = {
    "reset": "`reset` with one seed in a loop: each of these episodes starts from the same state",
    "learn": "`learn` in a loop without `reset_num_timesteps=False`: schedules begin again each time",
}


def sniff(path: Path, head: bytes) -> bool:
    """A Python file that trains, and the only one of its folder."""
    return path.suffix == ".py" and _trains(path) and not any(_trains(other) for other in _others(path))


def read(path: Path, resume: Any = None) -> Recording:
    """The settings by the names under which the trainer takes them. Raises `Unreadable` if the file is not Python."""
    try:
        tree = ast.parse(read_whole(path, MAX_BYTES))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Unreadable(path, f"is not Python ({error})", "correct it, or move it away") from None
    options, places = settings_in(tree)
    settings = dict(_of_options(options)) | dict(_of_places(places, tree))
    again = dict(_again(tree))
    said = [f"line {line}: {_AGAIN[method]}" for line, method in again.items()]
    if options:
        said.append("the defaults of its options stand for what the command gave")
    built = _missing_wrappers(tree)
    if "learn" in again.values():
        settings.pop("total_timesteps", None)  # of one piece
    settings |= dict(zip(["dropout"], _dropouts(tree), strict=False))
    return Recording(format="script", config=settings | ({TRAINING_WRAPPERS: built} if built else {}), notes=said)


def _trains(path: Path) -> bool:
    try:
        return bool(_TRAINS.search(read_whole(path, MAX_BYTES).decode(errors="replace")))
    except (OSError, Unreadable):
        return False


def _others(path: Path) -> Iterator[Path]:
    with os.scandir(path.parent) as entries:
        names = sorted(e.name for e in entries if e.name.endswith(".py") and e.name != path.name)
    return (path.with_name(name) for name in names[:MAX_SCRIPTS])


def _of_options(options: Mapping[str, ScriptOption]) -> Iterator[tuple[str, Any]]:
    for name, option in options.items():
        if option.value is not None:
            yield from ((key, option.value) for key in (name.replace("-", "_"), *option.given_to))


def _of_places(places: Mapping[str, ScriptOption], tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The places that are settings, arguments last: a call says what the trainer gets."""
    own = imported_from_trainers(tree)
    written = Counter(n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    for name, option in sorted(places.items(), key=lambda place: "." in place[0]):
        of, _, last = name.rpartition(".")
        if written[name] > 1 or isinstance(option.value, dict | list | tuple):
            continue
        if not of or of in own or _CALLS.fullmatch(of) or _DICTIONARY.fullmatch(of):
            keys = (last, *option.given_to) if not of else (_MEANT.get(last, last) if of in own else last,)
            yield from ((key.lower(), option.value) for key in keys)


def _again(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """(line, method) of calls in a loop that make episodes or schedules begin again: `reset` with one seed, a whole `learn`."""
    for loop in (node for node in ast.walk(tree) if isinstance(node, ast.For | ast.While)):
        for call in ast.walk(loop):
            match call:
                case ast.Call(func=ast.Attribute(attr="reset"), keywords=[ast.keyword("seed", ast.Constant(int()))]):
                    yield call.lineno, "reset"
                case ast.Call(func=ast.Attribute(attr="learn"), keywords=given) if not any(
                    k.arg in ("reset_num_timesteps", None) for k in given
                ):
                    yield call.lineno, "learn"


def _dropouts(tree: ast.Module) -> Iterator[float]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func).rpartition(".")[2] == "Dropout":
            given = [*node.args, *(k.value for k in node.keywords if k.arg == "p")]
            yield from (v.value for v in given if isinstance(v, ast.Constant) and isinstance(v.value, float))


def _missing_wrappers(tree: ast.Module) -> str:
    """The wrappers around training environments that no evaluation environment of this script has."""
    of_training, of_evaluation = set[str](), set[str]()
    evaluates = False
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Call):
            called = {name_of(c.func).rpartition(".")[2] for c in ast.walk(node.value) if isinstance(c, ast.Call)}
            evaluation = bool(_EVALUATION.search(node.targets[0].id))
            evaluates = evaluates or (evaluation and bool(called & _MAKERS))
            (of_evaluation if evaluation else of_training).update(c for c in called if _WRAPPER.fullmatch(c))
    return ", ".join(sorted(of_training - of_evaluation)) if evaluates else ""
