"""What a training script lets one change, read from its text. The script is never imported.

A script with a parser has options (argparse, click, TrlParser, HfArgumentParser, tyro) or a configuration (Hydra, OmegaConf).
A script without one has places in its text: constants, keyword arguments of calls and entries of dictionaries, which are changed
in a copy of the script (`changed`). A place is called as a reader would: `LEARNING_RATE`, `PPO.gamma`, `config.lr`.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from firstbreak.model import EMPTY
from firstbreak.readers import Unreadable

FLAGS, HYDRA, ZOO, SOURCE = "flags", "hydra", "zoo", "source"
#: parsers whose options are the fields of classes, which may be another package's
_CLASS_PARSERS = frozenset({"TrlParser", "HfArgumentParser", "tyro.cli", "simple_parsing.parse"})
#: methods whose first argument is known by position: method -> the name of that argument
_POSITIONAL = {"learn": "total_timesteps"}
#: the package that a script imports -> its dialect
_DIALECTS = {"trl": "trl", "stable_baselines3": "sb3", "sb3_contrib": "sb3", "verl": "verl", "ray.rllib": "rllib"}
_HELP_OPTION = re.compile(r"^\s+(?:-\w+(?: \S+)?, )?--([\w.-]+)", re.MULTILINE)


@dataclass(frozen=True)
class ScriptOption:
    """An option or a place of a script."""

    name: str  #: as the command line says it, without dashes; or the name of the place
    value: Any = None  #: the default, or the value in the text; None where it is not known
    given_to: tuple[str, ...] = ()  #: names of the arguments to which the script hands the value


@dataclass(frozen=True, kw_only=True)
class Script:
    """The options of a script, and how they are set."""

    path: Path
    syntax: str  #: flags, hydra, zoo or source; see overrides.py
    options: Mapping[str, ScriptOption] = field(default_factory=lambda: EMPTY)
    dialect: str | None = None  #: by its imports
    constructor: str = ""  #: with syntax source: the call that takes the trainer's settings


def read_script(path: Path, ask_for_help: Callable[[], str] = str) -> Script:
    """The options of a script. `ask_for_help` starts it with --help, and is called only where the text shows a parser of options
    that are not in the text. Raises `Unreadable` if the file is not Python."""
    try:
        tree = ast.parse(path.read_text("utf-8"))
    except OSError as error:
        raise Unreadable(
            path, f"cannot be read ({error.strerror})", "give the script that starts the training"
        ) from None
    except (SyntaxError, ValueError) as error:
        raise Unreadable(path, f"is not Python ({error})", "give the script that starts the training") from None
    calls = [(_name(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {name for name, _ in calls} | {name.rpartition(".")[2] for name, _ in calls}
    given = _given(tree)
    dialect = _dialect(tree)
    if (main := next((call for name, call in calls if name == "hydra.main"), None)) is not None:
        return Script(path=path, syntax=HYDRA, options=_of_tree(_hydra_tree(path, main), given), dialect=dialect)
    if "from_cli" in called:
        return Script(path=path, syntax=HYDRA, options=_of_tree(_omegaconf_tree(path, calls), given), dialect=dialect)
    flags = dict(_flags(calls))
    if parsers := called & _CLASS_PARSERS:
        flags = dict(_fields(tree)) | flags | {name: flags.get(name) for name in _HELP_OPTION.findall(ask_for_help())}
    elif "ArgumentParser" in called and not flags:
        parsers, flags = called, {name: None for name in _HELP_OPTION.findall(ask_for_help())}
    if flags or parsers:
        flags.pop("help", None)
        zoo = any(name.endswith("add_argument") and _says(call, "--hyperparams") for name, call in calls)
        options = {n: ScriptOption(n, v, given.get(n.replace("-", "_"), ())) for n, v in flags.items()}
        return Script(path=path, syntax=ZOO if zoo else FLAGS, options=options, dialect=dialect)
    options, constructor = _places(tree, given)
    return Script(path=path, syntax=SOURCE, options=options, dialect=dialect, constructor=constructor)


def _name(node: ast.AST) -> str:
    """`a.b.c` of an attribute, `c` of a call's result."""
    if isinstance(node, ast.Attribute):
        before = _name(node.value)
        return f"{before}.{node.attr}" if before else node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _dialect(tree: ast.Module) -> str | None:
    modules = [
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([a.name for a in node.names] if isinstance(node, ast.Import) else [node.module or ""])
    ]
    return next((d for m in modules for package, d in _DIALECTS.items() if f"{m}.".startswith(f"{package}.")), None)


def _given(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """Name of a variable, attribute or entry -> the arguments to which it is handed: `lr` -> `learning_rate`."""
    found: dict[str, list[str]] = defaultdict(list)
    for call in ast.walk(tree):
        if isinstance(call, ast.Call):
            for argument, value in _arguments(call):
                match value:
                    case (
                        ast.Attribute(attr=name)
                        | ast.Name(id=name)
                        | ast.Subscript(slice=ast.Constant(value=str(name)))
                    ):
                        found[name].append(argument)
    return {name: tuple(dict.fromkeys(arguments)) for name, arguments in found.items()}


def _arguments(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    yield from ((k.arg, k.value) for k in call.keywords if k.arg)
    known = _POSITIONAL.get(_name(call.func).rpartition(".")[2])
    if known and call.args:
        yield known, call.args[0]


def _says(call: ast.Call, word: str) -> bool:
    return any(isinstance(a, ast.Constant) and a.value == word for a in call.args)


def _literal(node: ast.AST | None) -> Any:
    """The value of a literal, with products and powers of numbers; None for anything else."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Pow() as op, right=right):
            a, b = _literal(left), _literal(right)
            if isinstance(a, int | float) and isinstance(b, int | float) and abs(b) < 1e12:
                return a * b if isinstance(op, ast.Mult) else (a**b if abs(b) < 64 else None)
            return None
        case None:
            return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


# --- parsers -----------------------------------------------------------------------------------------------------------


def _flags(calls: list[tuple[str, ast.Call]]) -> Iterator[tuple[str, Any]]:
    """argparse's and click's options with a value, and their defaults."""
    for name, call in calls:
        if name.rpartition(".")[2] not in ("add_argument", "option"):
            continue
        words = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        long = [w[2:].partition("/")[0] for w in words if w.startswith("--")]
        more = {k.arg: k.value for k in call.keywords}
        if long and not str(_literal(more.get("action"))).startswith(("store_", "count", "version")):
            yield max(long, key=len), _literal(more.get("default"))


def _fields(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The fields of the script's own dataclasses, which class parsers turn into options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in node.decorator_list):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield line.target.id, _literal(line.value)


def _hydra_tree(path: Path, call: ast.Call) -> Any:
    where = {k.arg: _literal(k.value) for k in call.keywords}
    named = dict(zip(("config_path", "config_name"), map(_literal, call.args), strict=False)) | where
    name = str(named.get("config_name") or "config").removesuffix(".yaml")
    return _yaml(path.parent / (named.get("config_path") or ".") / f"{name}.yaml")


def _omegaconf_tree(path: Path, calls: list[tuple[str, ast.Call]]) -> dict[str, Any]:
    """What `OmegaConf.load` and `OmegaConf.create` start from."""
    tree: dict[str, Any] = {}
    for name, call in calls:
        first = _literal(call.args[0]) if call.args else None
        if name.endswith("OmegaConf.load") and isinstance(first, str):
            tree |= _yaml(path.parent / first)
        elif name.endswith("OmegaConf.create") and isinstance(first, dict):
            tree |= first
    return tree


def _yaml(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(path.read_text("utf-8"))
    except (OSError, ValueError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def _of_tree(
    tree: Mapping[str, Any], given: Mapping[str, tuple[str, ...]], before: str = ""
) -> dict[str, ScriptOption]:
    found: dict[str, ScriptOption] = {}
    for key, value in tree.items():
        name = f"{before}{key}"
        if isinstance(value, Mapping):
            found |= _of_tree(value, given, f"{name}.")
        elif key != "defaults" or before:
            found[name] = ScriptOption(name, value, given.get(str(key), ()))
    return found


# --- places in the text --------------------------------------------------------------------------------------------------


def _places(tree: ast.Module, given: Mapping[str, tuple[str, ...]]) -> tuple[dict[str, ScriptOption], str]:
    """The places that can be changed, and the call with most keyword arguments, which is the trainer's."""
    options: dict[str, ScriptOption] = {}
    for name, node, argument in _literals(tree):
        options.setdefault(name, ScriptOption(name, _literal(node), (argument, *given.get(argument, ()))))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _name(node.func)]
    largest = max(calls, key=lambda c: len([k for k in c.keywords if k.arg]), default=None)
    return options, "" if largest is None else _name(largest.func).rpartition(".")[2]


def _literals(tree: ast.Module) -> Iterator[tuple[str, ast.expr, str]]:
    """(name of the place, literal, name of the argument, variable or entry) for each literal that is a setting."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Dict(keys=keys, values=values)):
                for key, value in zip(keys, values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str) and _literal(value) is not None:
                        yield f"{name}.{key.value}", value, key.value
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ):
                if value is not None and _literal(value) is not None:
                    yield name, value, name
            case ast.Call(func=func):
                call = _name(func).rpartition(".")[2]
                for argument, value in _arguments(node):
                    if call and _literal(value) is not None:
                        yield f"{call}.{argument}", value, argument


def changed(text: str, path: Path, values: Mapping[str, Any]) -> str:
    """A copy of a script with other values at some of its places, which says `path` where it asks for its own place.

    `values`: name of a place -> new value. A keyword argument that a call does not have yet is added to it. Raises KeyError
    with the name of a place that is not there.
    """
    tree = ast.parse(text)
    edits: list[tuple[tuple[int, int], tuple[int, int], str]] = []
    there = defaultdict(list)
    for name, node, _ in _literals(tree):
        there[name].append(node)
    for name, value in values.items():
        nodes = there.get(name, [])
        edits += [(*_span(node), repr(value)) for node in nodes]
        if not nodes:
            edits.append(_added(tree, name, value))
    own = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == "__file__")
    edits += [(*_span(node), repr(str(path))) for node in own]
    lines = [line.encode() for line in text.splitlines(keepends=True)]  # columns of the tree count bytes
    starts = [sum(map(len, lines[:i])) for i in range(len(lines))]
    data = b"".join(lines)
    for start, end, new in sorted(edits, reverse=True):
        data = data[: starts[start[0] - 1] + start[1]] + new.encode() + data[starts[end[0] - 1] + end[1] :]
    return data.decode()


def _added(tree: ast.Module, name: str, value: Any) -> tuple[tuple[int, int], tuple[int, int], str]:
    """The edit that adds a keyword argument to a call, behind its last argument."""
    call, _, argument = name.rpartition(".")
    for node in ast.walk(tree):
        if call and isinstance(node, ast.Call) and _name(node.func).rpartition(".")[2] == call:
            arguments = [*node.args, *(k.value for k in node.keywords)]
            if arguments and argument.isidentifier():
                end = max(_span(a)[1] for a in arguments)
                return end, end, f", {argument}={value!r}"
    raise KeyError(name)


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
