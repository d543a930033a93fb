"""Lines that hold the options of a run, and no measurement.

Namespace(env_id='Walker2d-v4', gamma=0.99, ...)    Args(seed=4, ...)         argparse, dataclasses
[2025-05-02 19:03:11] sac.py --env Ant-v4 --buffer 1000000 --batch 256        a command
args: lr=1e-06 eps_clip=0.2 num_rollout=200       # run r7  base=Qwen2.5  lr=1e-6
[env] Hover-v1 obs=(3,) action_space: Box(low=0.0, high=20.0)                 the range of an action
TD3+BC  alpha=2.5 discount=0.99 tau=0.005 batch=256                           two names that nobody measures
"""

import re
from collections.abc import Mapping

from firstbreak.dialects._table import words
from firstbreak.readers._columns import leaves
from firstbreak.readers._literal import parse
from firstbreak.readers._options import value
from firstbreak.readers.console._reading import LineKind, ParsedLine

LEAST = 3  #: options of a line
LONGEST = 20_000  #: characters
CALL = re.compile(r"(?<![\w.])(?:Namespace|\w*Args|\w*Arguments|\w*Config|\w*Configuration)\((?=\w+ ?=)")
_COMMAND = re.compile(r"(?<!\S)\S{1,200}\.py (?=.{0,200}?--?[A-Za-z])|\bpython3? -m \S+ (?=-)")
_FLAG = re.compile(r"(?<!\S)--?(?P<name>[A-Za-z][\w.-]*)(?:[= ](?P<value>'[^']*'|\"[^\"]*\"|(?!--?[A-Za-z])\S+))?")
_PAIR = re.compile(r"(?<![\w./])(?P<name>[A-Za-z_]\w*)=(?P<value>'[^']*'|\"[^\"]*\"|[^\s,;|()]+)(?=[\s,;|]|$)")
_SAYS = re.compile(r"# |.{0,60}\b(?:args|arguments|cfg|config|options|settings|hparams)(?:: | \| | -> )", re.IGNORECASE)
_SPACE = re.compile(r"\bact(?:ion)?s?(?:[_ ]?space)?\W{1,3}(Box\(.{3,200})")
#: what a run has and no step measures
_GIVEN = frozenset(
    words("""
    gamma discount tau seed batch batch_size buffer buffer_size hidden envs n_envs num_envs lam gae_lambda policy_noise
    noise_clip policy_freq minibatches n_steps max_grad_norm ent_coef vf_coef vf
    """)
)
_MEASURED = frozenset(words("loss reward R ret step frames env_steps epoch ep episode iter"))


def read(line: str) -> ParsedLine | None:
    """A break with the options."""
    if len(line) > LONGEST:
        return None
    options = (
        (_called(line) if "(" in line and line.endswith(")") else {})
        or (_flags(line) if " -" in line and ("python" in line or ".py " in line) else {})
        or (_pairs(line) if "loss" not in line and line.count("=") >= LEAST else {})
    )
    options = options if len(options) >= LEAST else {}
    if "Box(" in line and "action_space" not in options and (space := _SPACE.search(line)):
        options["action_space"] = space[1]
    return ParsedLine(config=options, kind=LineKind.BREAK) if options else None


def _called(line: str) -> dict[str, object]:
    found = CALL.search(line)
    if found is None:
        return {}
    try:
        tree = parse(line[found.start() :].strip())
        return dict(leaves(tree, ".")) if isinstance(tree, Mapping) else {}
    except ValueError:
        return {}


def _flags(line: str) -> dict[str, object]:
    found = _COMMAND.search(line)
    flags = _FLAG.finditer(line, found.end()) if found else ()
    return {flag["name"].replace("-", "_"): value(flag["value"]) if flag["value"] else True for flag in flags}


def _pairs(line: str) -> dict[str, object]:
    found = {pair["name"]: pair["value"] for pair in _PAIR.finditer(line)}
    if _MEASURED & found.keys() or not (len(_GIVEN & found.keys()) > 1 or _SAYS.match(line)):
        return {}
    return {name: value(written) for name, written in found.items()}
