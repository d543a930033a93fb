"""Which recorded options only tell one run from another: its name, seed, date and places. They never count as differences."""

import re
from pathlib import Path
from typing import Any

#: options that say where and how often something is logged, and do not change training
BOOKKEEPING = frozenset(
    {
        *("log_interval", "eval_interval", "save_interval"),
        *("is_hyper_param_search", "is_local_process_zero", "is_world_process_zero"),
    }
)
#: how much is trained, which logs tell beside their numbers: alone, these are no configuration
AMOUNT = frozenset({"total_steps", "total_epochs", "num_train_epochs", "batch_size", "train_batch_size"})
_NAMED = re.compile(
    r"(\w+[_-])?(seeds?|(run|exp|experiment|job|trial|sweep|wandb)[_-]?(name|id|group|tags?|notes?))"
    r"|run|exp|experiment|job|trial|project|group|user|host|machine|hostname|node|node_ip|ip|port|pid|uuid|id|name|tags?|notes?|entity"
    r"|date|time|datetime|timestamp|start(ed)?([_-]?(at|time|date))?|created([_-]?at)?|verbose|cwd|argv|command"
    r"|(\w+[_-])?(out|output|log|logging|save|saving|result|run|work|working|checkpoint|ckpt|tb|tensorboard|wandb|video|monitor)"
    r"s?[_-]?(dir|directory|path|folder|file|root|to|logs?|base)"
    r"|out|output|logs?|tensorboard",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?<!\d)(20\d{2}[-_./]?[01]\d[-_./]?[0-3]\d|1[4-9]\d{8})(?!\d)")  #: a day, or seconds since 1970
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]{4,}")  #: an object of this one process: <function forward at 0x7f...>
_ABSOLUTE = ("/", "~/", "./", "../")
#: what training reads; another path of it is another setting
_READ = re.compile(r"data|model|token|reward|reference|init|load|resume|pretrain|prompt|template", re.IGNORECASE)


def is_per_run(option: str, value: Any, place: str) -> bool:
    """Whether an option belongs to this one run. `place`: the path of the run, whose own name in a value gives it away."""
    last = re.split(r"[./]", option)[-1].lstrip("-")
    if "seed" in last.lower() and _NAMED.fullmatch(last):
        return True
    if isinstance(value, str) and _ADDRESS.search(value):
        return True
    if _READ.search(last):
        return False
    if _NAMED.fullmatch(last):
        return True
    if not isinstance(value, str):
        return False
    path = Path(place)
    own = {name for name in (path.name, path.stem) if len(name) > 3 and any(c.isdigit() for c in name)}
    return value.startswith(_ABSOLUTE) or bool(_DATE.search(value)) or any(name in value for name in own)
