"""What a training script lets one change, read from its text. The script is never imported.

A script with a parser has options (argparse, click, absl, typer, fire, TrlParser, HfArgumentParser, tyro) or a configuration
(Hydra, OmegaConf, a YAML file that its command names). A script without one has places in its text: constants, variables of the
environment with a default, keyword arguments of calls and entries of dictionaries, which are changed in a copy of the script
(`changed`). A place is called as a reader would: `LEARNING_RATE`, `PPO.gamma`, `config.lr`.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from firstbreak.dialects.hyperparameters import plain
from firstbreak.model import EMPTY
from firstbreak.readers import Unreadable
from firstbreak.readers.opening import read_whole
from firstbreak.values import dataclass, field

MAX_BYTES = 1 << 20
FLAGS, HYDRA, ZOO, YAML, SOURCE = "flags", "hydra", "zoo", "yaml", "source"
#: parsers whose options are the fields of classes, which may be another package's
_CLASS_PARSERS = frozenset({"TrlParser", "HfArgumentParser", "tyro.cli", "simple_parsing.parse"})
#: methods whose first argument is known by position: method -> the name of that argument
_POSITIONAL = {"learn": "total_timesteps"}
#: the package that a script imports -> its dialect
_DIALECTS = {"trl": "trl", "stable_baselines3": "sb3", "sb3_contrib": "sb3", "verl": "verl", "ray.rllib": "rllib"}
#: what reads a configuration file
_LOADERS = frozenset({"yaml.safe_load", "yaml.full_load", "yaml.load", "safe_load", "OmegaConf.load"})
#: what takes a function whose parameters become options
_FUNCTION_PARSERS = frozenset({"fire.Fire", "Fire", "typer.run"})
_TYPER_OPTIONS = frozenset({"typer.Option", "Option"})
#: absl's definitions of options: name, default, help
_DEFINES = re.compile(r"DEFINE_(float|integer|string|boolean|bool|enum)")
_ENVIRONMENT = frozenset({"os.environ.get", "environ.get", "os.getenv", "getenv"})
_VARIABLES = frozenset({"os.environ", "environ"})
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
    syntax: str  #: flags, hydra, zoo, yaml or source; see overrides.py
    options: Mapping[str, ScriptOption] = field(default_factory=lambda: EMPTY)
    dialect: str | None = None  #: by its imports
    constructor: str = ""  #: with syntax source: the call that takes the trainer's settings
    config: Path | None = None  #: with syntax yaml: the configuration file
    #: with syntax yaml: the option whose default is the file, where the command does not name it
    config_option: str = ""


def read_script(path: Path, ask_for_help: Callable[[], str] = str, named: Sequence[Path] = ()) -> Script:
    """The options of a script. `ask_for_help` starts it with --help, and is called only where the text shows a parser of options
    that are not in the text. `named` are the YAML files that its command names. Raises `Unreadable` if the file is not Python.
    """
    try:
        tree = ast.parse(read_whole(path, MAX_BYTES))
    except (SyntaxError, ValueError) as error:
        raise Unreadable(path, f"is not Python ({error})", "give the script that starts the training") from None
    calls = [(name_of(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {name for name, _ in calls} | {name.rpartition(".")[2] for name, _ in calls}
    given = _given(tree)
    dialect = _dialect(tree)
    if (main := next((call for name, call in calls if name == "hydra.main"), None)) is not None:
        settings = _hydra_tree(path, main) or _structured(tree)
        return Script(path=path, syntax=HYDRA, options=_of_tree(settings, given), dialect=dialect)
    if "from_cli" in called:
        loaded = _omegaconf_tree(path, calls, named) or _structured(tree)
        return Script(path=path, syntax=HYDRA, options=_of_tree(loaded, given), dialect=dialect)
    of_flags = list(_flags(calls))
    flags = {name: default for name, default, _ in of_flags} | dict(_parameters(tree, calls))
    named_as = {name: variable for name, _, variable in of_flags}
    if called & _LOADERS and not called & _CLASS_PARSERS:
        file, by = _default_file(path, flags) if not named else (named[0] if len(named) == 1 else None, "")
        if file is not None:
            options = _of_tree(_yaml(file), given)
            return Script(path=path, syntax=YAML, options=options, dialect=dialect, config=file, config_option=by)
    if parsers := called & _CLASS_PARSERS:
        flags = dict(_fields(tree)) | flags | {name: flags.get(name) for name in _HELP_OPTION.findall(ask_for_help())}
    elif "ArgumentParser" in called and not flags:
        parsers, flags = called, {name: None for name in _HELP_OPTION.findall(ask_for_help())}
    if flags or parsers:
        flags.pop("help", None)
        arguments = (argument for name, call in calls if name.endswith("add_argument") for argument in call.args)
        zoo = any(isinstance(argument, ast.Constant) and argument.value == "--hyperparams" for argument in arguments)
        options = {
            n: ScriptOption(n, v, (*filter(None, [named_as.get(n)]), *given.get(named_as.get(n) or _variable(n), ())))
            for n, v in flags.items()
        }
        return Script(path=path, syntax=ZOO if zoo else FLAGS, options=options, dialect=dialect)
    options, constructor = _places(tree, given)
    return Script(path=path, syntax=SOURCE, options=options, dialect=dialect, constructor=constructor)


def settings_in(tree: ast.Module) -> tuple[dict[str, ScriptOption], dict[str, ScriptOption]]:
    """The options of the parsers in the text with the fields of its dataclasses, and the places; no other file is asked."""
    calls = [(name_of(node.func), node) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    given = _given(tree)
    defaults = dict(_fields(tree)) | {name: value for name, value, _ in _flags(calls)} | dict(_parameters(tree, calls))
    options = {n: ScriptOption(n, v, given.get(_variable(n), ())) for n, v in defaults.items()}
    return options, _places(tree, given)[0]


def _variable(option: str) -> str:
    """What argparse calls the value of an option."""
    return option.lstrip("-").replace("-", "_")


def _default_file(path: Path, flags: Mapping[str, Any]) -> tuple[Path | None, str]:
    """The one YAML file that lies beside the script and is the default of an option, and the option."""
    found = [(path.parent / str(v), name) for name, v in flags.items() if str(v).endswith((".yaml", ".yml"))]
    there = [(file, name) for file, name in found if file.is_file()]
    return there[0] if len(there) == 1 else (None, "")


def name_of(node: ast.AST) -> str:
    """`a.b.c` of an attribute, `c` of a call's result."""
    if isinstance(node, ast.Attribute):
        before = name_of(node.value)
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
    known = _POSITIONAL.get(name_of(call.func).rpartition(".")[2])
    if known and call.args:
        yield known, call.args[0]


def _literal(node: ast.AST | None) -> Any:
    """The value of a literal, with products and powers of numbers, `int(1e6)`, and the default of a variable of the environment;
    None for anything else."""
    match node:
        case ast.BinOp(left=left, op=ast.Mult() | ast.Pow() as op, right=right):
            a, b = _literal(left), _literal(right)
            if isinstance(a, int | float) and isinstance(b, int | float) and abs(b) < 1e12:
                return a * b if isinstance(op, ast.Mult) else (a**b if abs(b) < 64 else None)
            return None
        case ast.Call(func=func, args=[_, default]) if name_of(func) in _ENVIRONMENT:
            return plain(_literal(default))
        case ast.Call(func=ast.Name(id="int" | "float" as kind), args=[ast.Constant() | ast.BinOp() as number]):
            value = plain(_literal(number))
            return {"int": int, "float": float}[kind](value) if isinstance(value, int | float) else None
        case None:
            return None
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError):
        return None


# --- parsers -----------------------------------------------------------------------------------------------------------


def _flags(calls: list[tuple[str, ast.Call]]) -> Iterator[tuple[str, Any, str]]:
    """(option, default, variable if it is named) of the options of argparse, click and absl that take a value.

    An option with one dash (`-lr`) keeps it; one with a long name goes without dashes.
    """
    for name, call in calls:
        last = name.rpartition(".")[2]
        if _DEFINES.fullmatch(last) and call.args:
            default = (
                call.args[1]
                if len(call.args) > 1
                else next((k.value for k in call.keywords if k.arg == "default"), None)
            )
            yield str(_literal(call.args[0])), _literal(default), ""
        if last not in ("add_argument", "option"):
            continue
        words = [a.value for a in call.args if isinstance(a, ast.Constant) and isinstance(a.value, str)]
        long = [w[2:].partition("/")[0] for w in words if w.startswith("--")]
        more = {k.arg: k.value for k in call.keywords}
        short = [w for w in words if w.startswith("-") and not w.startswith("--")]
        if (long or short) and not str(_literal(more.get("action"))).startswith(("store_", "count", "version", "help")):
            variable = str(_literal(more.get("dest")) or next((w for w in words if not w.startswith("-")), ""))
            yield max(long or short, key=len), _literal(more.get("default")), variable


def _parameters(tree: ast.Module, calls: list[tuple[str, ast.Call]]) -> Iterator[tuple[str, Any]]:
    """The parameters with a default of the functions that fire or typer turn into commands."""
    typer = any(name == "typer.run" or name.endswith(".Typer") or name == "Typer" for name, _ in calls)
    parsers = [call for name, call in calls if name in _FUNCTION_PARSERS]
    named = {name_of(node) for call in parsers for a in call.args for node in ast.walk(a)}
    for node in _functions(tree, named, every=any(not call.args for call in parsers)):
        command = any(name_of(d.func).endswith(".command") for d in node.decorator_list if isinstance(d, ast.Call))
        if not (parsers or (typer and command)):
            continue
        arguments = [*node.args.posonlyargs, *node.args.args]
        pairs = [*zip(arguments[::-1], node.args.defaults[::-1], strict=False)][::-1]
        pairs += [(a, d) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True) if d is not None]
        for argument, default in pairs:
            option, value = _typer_option(argument, default) if typer else (argument.arg, _literal(default))
            if not isinstance(value, bool):  # a switch takes no value
                yield option, value


def _functions(tree: ast.Module, named: Container[str], every: bool) -> Iterator[ast.FunctionDef]:
    """The functions, and the methods of the classes, that have one of these names, or are a command by their decorator."""
    for node in tree.body:
        asked = every or (isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in named)
        if isinstance(node, ast.FunctionDef) and (asked or node.decorator_list):
            yield node
        elif isinstance(node, ast.ClassDef) and asked:
            yield from (m for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_"))
            yield from (m for m in node.body if isinstance(m, ast.FunctionDef) and m.name == "__init__")


def _typer_option(argument: ast.arg, default: ast.expr) -> tuple[str, Any]:
    """The option and the default of a parameter: as `typer.Option` says it, in the default or in the annotation."""
    said = [n for n in (default, *ast.walk(argument.annotation or default)) if isinstance(n, ast.Call)]
    option = next((call for call in said if name_of(call.func) in _TYPER_OPTIONS), None)
    words = (
        [] if option is None else [w for w in map(_literal, option.args) if isinstance(w, str) and w.startswith("--")]
    )
    value = option.args[0] if option is default and option is not None and option.args else default
    name = max(words, key=len)[2:] if words else argument.arg.replace("_", "-")
    return name.partition("/")[0], _literal(value)


def _fields(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """The fields of the script's own dataclasses, which class parsers turn into options."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in node.decorator_list):
            for line in node.body:
                if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name):
                    yield line.target.id, _literal(line.value)


def _structured(tree: ast.Module) -> dict[str, Any]:
    """The fields of the script's dataclasses as one configuration: a field whose type is another of them is a section."""
    classes = {
        node.name: [line for line in node.body if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name)]
        for node in ast.walk(tree)
        if isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in node.decorator_list)
    }
    types = {name: {name_of(line.annotation) for line in lines} & classes.keys() for name, lines in classes.items()}

    def section(name: str, above: frozenset[str]) -> dict[str, Any]:
        return {
            line.target.id: section(of, above | {of})
            if (of := name_of(line.annotation)) in classes and of not in above
            else _literal(line.value)
            for line in classes[name]
            if isinstance(line.target, ast.Name)
        }

    inner = {name for below in types.values() for name in below}
    return {
        key: value for name in classes if name not in inner for key, value in section(name, frozenset({name})).items()
    }


def _hydra_tree(path: Path, call: ast.Call) -> Any:
    where = {k.arg: _literal(k.value) for k in call.keywords}
    named = dict(zip(("config_path", "config_name"), map(_literal, call.args), strict=False)) | where
    name = str(named.get("config_name") or "config").removesuffix(".yaml")
    return _yaml(path.parent / (named.get("config_path") or ".") / f"{name}.yaml")


def _omegaconf_tree(path: Path, calls: list[tuple[str, ast.Call]], named: Sequence[Path]) -> dict[str, Any]:
    """What `OmegaConf.load` and `OmegaConf.create` start from. A file that the text does not name is one that the command names,
    or the default of an option."""
    tree: dict[str, Any] = {}
    defaults = [path.parent / str(v) for _, v, _ in _flags(calls) if str(v).endswith((".yaml", ".yml"))]
    for name, call in calls:
        first = _literal(call.args[0]) if call.args else None
        if name.endswith("OmegaConf.load"):
            for file in [path.parent / first] if isinstance(first, str) else named or defaults:
                tree |= _yaml(file)
        elif name.endswith("OmegaConf.create") and isinstance(first, dict):
            tree |= first
    return tree


def _yaml(path: Path) -> dict[str, Any]:
    try:
        found = yaml.safe_load(read_whole(path, MAX_BYTES))
    except (Unreadable, ValueError, yaml.YAMLError):
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
    dictionaries = {name.partition(".")[0] for name, _, _ in _literals(tree)}
    own = imported_from_trainers(tree)
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and name_of(node.func)]
    calls = [node for node in calls if name_of(node.func) in own] or calls
    largest = max(calls, key=lambda call: _settings_of(call, dictionaries), default=None)
    return options, "" if largest is None else name_of(largest.func).rpartition(".")[2]


def _settings_of(call: ast.Call, dictionaries: Container[str]) -> int:
    """How many settings a call takes, as far as the text shows."""
    return sum(1 if keyword.arg else LARGE * (name_of(keyword.value) in dictionaries) for keyword in call.keywords)


LARGE = 100  #: keyword arguments that a dictionary of settings counts as: `PPO(**hyperparameters)`


def imported_from_trainers(tree: ast.Module) -> set[str]:
    """What the script imports from a trainer's package itself, and not from its parts: `PPO`, and not `EvalCallback`."""
    return {
        a.asname or a.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module in _DIALECTS
        for a in node.names
    }


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
            case ast.Call(func=func, args=[ast.Constant(value=str(name)), _]) if name_of(func) in _ENVIRONMENT:
                yield name, node, name
            case ast.Subscript(value=of, slice=ast.Constant(value=str(name)), ctx=ast.Load()) if (
                name_of(of) in _VARIABLES
            ):
                yield name, node, name
            case ast.Call(func=func):
                call = name_of(func).rpartition(".")[2]
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
        edits += [(*_span(node), repr(str(value) if _of_environment(node) else value)) for node in nodes]
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


def _of_environment(node: ast.expr) -> bool:
    """Whether a place is a variable of the environment, which is text."""
    return isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and name_of(node.func) in _ENVIRONMENT)


def _added(tree: ast.Module, name: str, value: Any) -> tuple[tuple[int, int], tuple[int, int], str]:
    """The edit that adds a keyword argument to a call, behind its last argument."""
    call, _, argument = name.rpartition(".")
    for node in ast.walk(tree):
        if call and isinstance(node, ast.Call) and name_of(node.func).rpartition(".")[2] == call:
            arguments = [*node.args, *(k.value for k in node.keywords)]
            if arguments and argument.isidentifier():
                end = max(_span(a)[1] for a in arguments)
                return end, end, f", {argument}={value!r}"
    raise KeyError(name)


def _span(node: ast.expr) -> tuple[tuple[int, int], tuple[int, int]]:
    return (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)
