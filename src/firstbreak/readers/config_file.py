"""Hyperparameters beside a run: params.json, config.yaml, args.yml, rl.toml, a2c.ini, dqn.gin, hydra's resolved config,
and the command that started it in launch.sh or cmd.txt, or as run_args.txt prints them, all read as text.

YAML is read with a loader that builds plain data only. Python tags (rl-zoo's OrderedDict) give the plain data below
them; nothing is imported or called.
"""

import configparser
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import leaves
from firstbreak.readers._json import loads
from firstbreak.readers._options import toml
from firstbreak.readers._options import value as literal
from firstbreak.readers.opening import plain, read_whole

DESCRIPTION = (
    "hyperparameter files: params.json, config.yaml, rl.toml, a2c.ini, dqn.gin, launch.sh (rl-zoo, hydra, RLlib, TRL)"
)
FILES = (
    *("*.yml", "*.yaml", "*.toml", "*.json", "*.ini", "*.cfg", "*.conf", "*.gin", "*.args", "*.md", "*.sh", "*.txt"),
    *("flags", "args", "options", "config"),
)
PRIORITY = -10
MAX_BYTES = 1 << 22
MAX_NODES = 200_000  #: after aliases are followed; a "billion laughs" file has 10**9 and fits in a kilobyte

_YAML = {".yml", ".yaml"}
_TOML = {".toml"}
_INI = {".ini", ".cfg", ".conf", ".gin", ".args"}
_NAMES = re.compile(
    r"(.*[_.-])?(params|conf|config|cfg|args|arguments|hparams|hyperparams|hyperparameters|options|overrides|flags|settings|specs?|env_?info)"
)
#: YAML and TOML hold no data, so that a word of the training is enough
_RECIPES = re.compile(
    r"(.*[_.-])?(recipe|experiment|train|training|trainer|rl|grpo|rloo|ppo|dpo|kto|sft|a2c|dqn|sac|td3)([_-].*)?"
)
#: what a file of any name says that is one of a training
_SAYS = re.compile(
    rb"(?m)(?:^|[{,])\s*(?:gamma|discount|(?:\w+_)?(?:learning_rate|lr|group_size)|total_timesteps|algorithm|num_envs"
    rb"|num_steps_per_env)\s*[:=]"
)
#: options that runs of all kinds have: a file that names several of them is a configuration, whatever it is called
_USUAL = re.compile(
    rb"""(?m)(?:^|[{,\[])\s*["']?(?:\w+[._-])?(seed|gamma|discount|lr|learning_rate|batch(?:_?size)?|minibatch\w*|epochs?|optim(?:izer)?|env(?:_id)?"""
    rb"""|tau|polyak|buffer(?:_?size)?|hidden\w*|clip\w*|max_norm|eps|lam(?:bda)?|ent\w*|kl\w*|beta|temp(?:erature)?|total_\w*|steps|iters|iterations"""
    rb"""|updates|algo(?:rithm)?|policy|target_\w+|group_size|samples_per_prompt|max_new_tokens|eval)["']?\s*[:=]"""
)
SEVERAL = 4  #: different ones
_OF_ENVIRONMENT = re.compile(r"[\w/.-]+-v\d+")  #: rl-zoo has the options below the environment
_TABLE = re.compile(r"\|\s*(?:param|parameter|option|hyperparameter)s?\s*\|\s*values?\s*\|", re.IGNORECASE)
_ROW = re.compile(r"(?m)^\|\s*([\w.-]*[A-Za-z][\w.-]*)\s*\|\s*([^|\n]*?)\s*\|\s*$")
_GIN = re.compile(r"(?m)^\s*(?:- )?\+{0,2}([\w.@/]+)\s*=\s*(\S.*?)\s*$")
MOST_LINES = 5  #: of a text that is a command, not a log
_COMMANDS = {".sh", ".txt"}
_LAUNCH = re.compile(r"(.*[_.-])?(launch|cmd|command|run|train|start|job|submit)([_.-].*)?")
_STARTS = re.compile(rb"(?m)^[^#\n]*\b(?:python3?|torchrun|accelerate|deepspeed|ray|uv|trl)\b")
_OPTION = re.compile(r"(?:--)?\+{0,2}([A-Za-z][\w.-]*)=(.*)", re.DOTALL)
#: `actor_lr: 0.0004  # peak`, below a heading or not: the arguments as a trainer prints them
_PAIR = re.compile(r"(?m)^[ \t]*(?:--)?([A-Za-z][\w.-]*)[ \t]*[:=][ \t]*(\S.*?)[ \t]*(?:[ \t]#.*)?\r?$")
_ARGUMENT = re.compile(r"(\w+)=('[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)|[^,()\s]+)")
_NOT_OURS = re.compile(r"(tokenizer|preprocessor|processor|image_processor|special_tokens|hydra|quantize).*")


def sniff(path: Path, head: bytes) -> bool:
    """A YAML, TOML or JSON file named like a config; the tokenizer's and hydra's own are not the run's."""
    suffix, stem = path.suffix.lower(), path.stem.lower()
    if b"\0" in head or _NOT_OURS.fullmatch(stem):
        return False
    if suffix in ("", ".txt") and _NAMES.fullmatch(stem) and head.startswith(b"Namespace("):
        return True
    if suffix in ("", ".txt") and _NAMES.fullmatch(stem):
        return 2 * len(_PAIR.findall(text := head.decode("utf-8", "replace"))) > text.count("\n") > 1
    if suffix in _COMMANDS:
        alone = suffix == ".sh" or len(head.replace(b"\\\n", b"").split(b"\n")) <= MOST_LINES
        return bool(alone and _LAUNCH.fullmatch(stem) and _STARTS.search(head))
    if suffix in (".args", ".md"):
        return suffix == ".args" or _TABLE.match(head.decode("utf-8", "replace").lstrip()) is not None
    if suffix in _YAML | _TOML | _INI:
        return bool(
            _NAMES.fullmatch(stem) or _RECIPES.fullmatch(stem) or (suffix in _YAML | _INI and _SAYS.search(head))
        ) or _usual(head)
    return suffix == ".json" and head.lstrip()[:1] in (b"{", b"") and bool(_NAMES.fullmatch(stem) or _usual(head))


def _usual(head: bytes) -> bool:
    """Whether a text names several of the usual options."""
    return len({found.lower() for found in _USUAL.findall(head)}) >= SEVERAL


def read(path: Path, resume: Any = None) -> Recording:
    """The hyperparameters, nested names joined with "."."""
    data = read_whole(path, MAX_BYTES)
    try:
        suffix = plain(path).suffix.lower()
        printed = suffix in ("", ".txt") and _NAMES.fullmatch(plain(path).stem.lower())
        tree = _pairs(data) if printed else _READ.get(suffix, loads)(data)
        if isinstance(tree, list) and all(isinstance(item, str) and "=" in item for item in tree):
            tree = _ini(data)  # the options of a command, as hydra keeps them
        if isinstance(tree, list) and len(tree) == 1:
            tree = tree[0]
        if isinstance(tree, Mapping) and len(tree) == 1 and _OF_ENVIRONMENT.fullmatch(of := str(next(iter(tree)))):
            tree = {"env": of, **tree[of]} if isinstance(tree[of], Mapping) else tree
        config = dict(leaves(_unwrapped(tree), ".", MAX_NODES)) if isinstance(tree, Mapping) else {}
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Unreadable(path, f"no YAML: {error.problem}", "correct the file", f"line {line}") from None
    except RecursionError:
        raise Unreadable(path, "is nested too deeply", "check that it is a config") from None
    except (ValueError, TypeError, yaml.YAMLError, configparser.Error) as error:
        raise Unreadable(
            path, f"cannot be read ({error})".replace("\n", " "), "correct or re-export the file"
        ) from None
    if not config:
        raise Unreadable(path, "holds no hyperparameters", "check that this is the file you meant")
    return Recording(format="config_file", config=config)


def _unwrapped(tree: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The options of wandb's config.yaml, which has each one as {value: ...}, some with a desc; other files as they are."""
    return {
        key: value["value"] if isinstance(value, Mapping) and {"value"} <= value.keys() <= {"value", "desc"} else value
        for key, value in tree.items()
        if key not in ("_wandb", "wandb_version")
    }


def _ini(data: bytes) -> Any:
    """Sections with `name = value`, or the bindings of gin, which have none."""
    text = data.decode()
    if not re.search(r"(?m)^\s*\[\w[^\]\n]*\]\s*$", text):
        return {name: literal(written) for name, written in _GIN.findall(text)}
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(text)
    return {name: {key: literal(written) for key, written in parser[name].items()} for name in parser.sections()}


def _command(data: bytes) -> Any:
    """The options of a command: `--name value`, `--name=value`, `name.part=value`; what a shell would fill in is left out."""
    lines = data[start.start() if (start := _STARTS.search(data)) else 0 :]
    words = shlex.split(lines.decode().replace("\\\n", " "), comments=True)
    found = (m for m in map(_OPTION.fullmatch, words) if m and "$" not in m[2])
    options = {m[1].replace("-", "_"): literal(m[2].rstrip(";")) for m in found}
    for name, written in zip(words, [*words[1:], "--"], strict=True):
        if re.fullmatch(r"--[A-Za-z][\w.-]*", name) and "$" not in written:
            options[name[2:].replace("-", "_")] = True if written.startswith("--") else literal(written.rstrip(";"))
    return options


def _pairs(data: bytes) -> Any:
    if data.startswith(b"Namespace("):
        return {name: literal(written) for name, written in _ARGUMENT.findall(data.decode()[len("Namespace(") :])}
    return {name: literal(written) for name, written in _PAIR.findall(data.decode())}


def _table(data: bytes) -> Any:
    """`|param|value|`, as CleanRL writes it."""
    return {name: literal(written) for name, written in _ROW.findall(data.decode())[1:]}


def _yaml(data: bytes) -> Any:
    loader = _PlainLoader(data)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        if _size(node, {}) > MAX_NODES:
            raise ValueError(f"more than {MAX_NODES} values after its aliases are followed")
        return loader.construct_document(node)
    finally:
        loader.dispose()


def _size(node: yaml.Node, known: dict[int, int]) -> int:
    """How many nodes a tree has when every alias is written out."""
    if id(node) not in known:
        known[id(node)] = MAX_NODES + 1  # a node that contains itself
        children: list[yaml.Node] = []
        if isinstance(node, yaml.SequenceNode):
            children = node.value
        elif isinstance(node, yaml.MappingNode):
            children = [part for pair in node.value for part in pair]
        known[id(node)] = 1 + sum(_size(child, known) for child in children)
    return known[id(node)]


class _PlainLoader(yaml.SafeLoader):
    """Python tags and unknown tags give the data below them."""

    def plain(self, node: yaml.Node) -> Any:
        if isinstance(node, yaml.MappingNode):
            return self.construct_mapping(node, deep=True)
        if isinstance(node, yaml.SequenceNode):
            return self.construct_sequence(node, deep=True)
        return self.construct_object(yaml.ScalarNode("tag:yaml.org,2002:str", node.value))

    def ordered_dict(self, node: yaml.Node) -> Any:
        """`!!python/object/apply:collections.OrderedDict [[[key, value], ...]]`."""
        value = self.plain(node)
        pairs = value[0] if isinstance(value, list) and len(value) == 1 else value
        if isinstance(pairs, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
            return {str(key): item for key, item in pairs}
        return value


_PlainLoader.add_constructor("tag:yaml.org,2002:python/object/apply:collections.OrderedDict", _PlainLoader.ordered_dict)
_PlainLoader.add_multi_constructor("", lambda loader, suffix, node: loader.plain(node))

_READ = {
    **dict.fromkeys(_YAML, _yaml),
    **dict.fromkeys(_TOML, toml),
    **dict.fromkeys(_INI, _ini),
    **dict.fromkeys(_COMMANDS, _command),
    ".md": _table,
}
