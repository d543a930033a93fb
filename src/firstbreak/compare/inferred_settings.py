"""What the names of a run and the first lines of its logs tell of its settings, where nothing recorded them.

A folder `qwen-0.5b-lr1e-5-seed0`, and a first line `Namespace(model='Qwen/Qwen2.5-0.5B', seed=0, lr=1e-05)` or
`python train.py --model Qwen/Qwen2.5-0.5B --seed 0`. Nothing of it is executed.
"""

import re
from pathlib import Path
from typing import Any

from firstbreak.compare.per_run import is_per_run
from firstbreak.model import Run
from firstbreak.readers import Unreadable
from firstbreak.readers._options import value
from firstbreak.readers.opening import head_of

FIRST_LINES = 12
MOST_FILES = 8
MOST = 40  #: settings from first lines; more are another kind of text
LONGEST = 120  #: characters of a value
_TEXT = frozenset({".log", ".txt", ".out", ".err", ""})
_SEED = re.compile(r"(?<![a-z0-9])(?:seed|rng|s)[-_=. ]?(\d{1,10})(?![0-9a-z])", re.IGNORECASE)
_MODEL = re.compile(
    r"(?<![a-z0-9])((?:qwen|llama|mistral|mixtral|gemma|phi|pythia|gpt-?2|smollm|opt|deepseek|olmo|falcon|granite)[\d.]*"
    r"(?:[-_]?(?:v\d|instruct|base|chat|math|coder|\d+(?:\.\d+)?[bm](?![a-z])))*)",
    re.IGNORECASE,
)
_ONE = re.compile(r"[A-Za-z]\w{0,39}(?:[./]\w{1,40}){0,3}")
_VALUE = r"'[^']*'|\"[^\"]*\"|[^\s,;(){}\[\]'\"=]+"
_LINE = re.compile(rf"(?<![\w./-])--?({_ONE.pattern})[ =]({_VALUE})|(?<![\w./-])({_ONE.pattern})=({_VALUE})")
_IN_NAME = re.compile(
    rf"(?<![a-z0-9])(?:([a-z]+)=({_VALUE.replace('/', '')})"
    r"|(lr|beta|kl|bs|eps|gamma|temp|clip|ent)[-_]?(\d+(?:\.\d+)?(?:e[-+]?\d+)?))(?![0-9a-z])",
    re.IGNORECASE,
)
_CANONICAL = {"lr": "learning_rate", "model_name": "model", "model_name_or_path": "model", "model_path": "model"}


def inferred_settings(run: Run) -> dict[str, Any]:
    """The settings that first lines and names tell. `seed` and `model` under these names; {} where they tell nothing."""
    return in_names(run.path) | in_first_lines(run)


def without_seed(path: str) -> str | None:
    """The path without the seed in its own name, or None where the name holds none: runs of one setting have it in common."""
    place = Path(path.partition("#")[0])
    found = _SEED.search(place.name)
    if found is None:
        return None
    rest = place.name[: found.start()] + place.name[found.end() :]
    return str(place.parent / (re.sub(r"[-_. ]+$|^[-_. ]+|(?<=[-_. ])[-_. ]+", "", rest) or "seeds"))


def in_names(path: str) -> dict[str, Any]:
    """What the names of the run and of its folder tell."""
    found: dict[str, Any] = {}
    for name in Path(path.partition("#")[0]).parts[-2:]:
        for key, text, short, number in _IN_NAME.findall(name):
            if (own := key or short).lower() != "seed":
                found[_named(own)] = value(text or number)
        if model := _MODEL.search(name):
            found["model"] = model[1]
        if seed := _SEED.search(name):
            found["seed"] = int(seed[1])
    return found


def in_first_lines(run: Run) -> dict[str, Any]:
    """What the first lines of the logs that were read tell: `name=value`, `--name value`."""
    place = Path(run.path.partition("#")[0])
    found: dict[str, Any] = {}
    for name in run.files[:MOST_FILES]:
        path = place / name if place.is_dir() else place
        if path.suffix.lower() not in _TEXT:
            continue
        try:
            lines = head_of(path).decode("utf-8", "replace").splitlines()[:FIRST_LINES]
        except Unreadable:
            continue
        here = {_named(key): text for line in lines for key, text in _pairs(line)}
        if len(here) <= MOST:
            found |= {k: v for k, v in here.items() if k in ("seed", "model") or not is_per_run(k, v, run.path)}
    return found


def _pairs(line: str) -> list[tuple[str, Any]]:
    """The settings of one line. A line of measurements (`step=1 loss=0.3`) is none."""
    found = [(a or c, (b or d).strip("'\"")[:LONGEST]) for a, b, c, d in _LINE.findall(line)]
    if any(key.lower() in _MEASURED for key, _ in found):
        return []
    return [(key, value(text)) for key, text in found]


_MEASURED = frozenset({"step", "loss", "reward", "epoch", "kl", "iter", "iteration", "it", "return", "episode"})


def _named(key: str) -> str:
    last = re.split(r"[./]", key)[-1].replace("-", "_").lower()
    return _CANONICAL.get(last, "seed" if last in ("seed", "random_seed", "rng_seed", "data_seed") else key)
