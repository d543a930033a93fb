"""Completions to score, with their other columns: a dump that a trainer wrote, or JSON lines or CSV."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from pathlib import Path
from typing import Any

from firstbreak.model import Sample
from firstbreak.preflight.data.rows import csv_rows, json_lines
from firstbreak.readers import Unreadable
from firstbreak.readers._samples import as_text, number
from firstbreak.readers.read import read
from firstbreak.values import dataclass

MAX_ITEMS = 5000  #: items: enough for every figure of this check

#: role -> the names it usually has, the likeliest first
NAMES = {
    "prompt": ("prompt", "question", "problem", "query", "input", "instruction"),
    "completion": ("completion", "response", "output", "solution_str", "generation", "text"),
    "answer": ("answer", "ground_truth", "gts", "gt", "solution", "target", "reference", "gold", "label"),
    "human": ("human_score", "human", "human_rating", "rating"),
    "group": ("group", "prompt_id", "uid", "id"),
    "chosen": ("chosen",),
    "rejected": ("rejected",),
    "reward": ("reward", "score"),
    "category": ("category", "subset", "domain", "type"),
}


@dataclass(frozen=True, kw_only=True)
class Item:
    """One completion."""

    prompt: str
    completion: str
    answer: str | None = None  #: the right one
    human: float | None = None  #: what a person gave it
    group: str = ""  #: completions of one prompt share it
    reward: float | None = None  #: what the file says that it got
    columns: Mapping[str, Any]  #: the row as it was read: what trainers hand to a reward function


@dataclass(frozen=True, kw_only=True)
class PreferencePair:
    """Two completions of one prompt; people prefer `chosen`."""

    prompt: str
    chosen: str
    rejected: str
    category: str = ""


def items(path: str, columns: Mapping[str, str]) -> list[Item]:
    """At most MAX_ITEMS completions; `columns` says which column has which role, where its name does not.

    Raises `Unreadable` where the file cannot be read or has no completions.
    """
    rows = _rows(Path(path))
    if rows is None:
        return _from_run(path)
    _check_roles(path, columns)
    first = next(rows, None)
    if first is None:
        raise Unreadable(path, "holds no rows", "give one JSON object or CSV row for each completion")
    names = _roles(path, first, columns, needed=("completion",))
    return [_item(row, names) for row in islice(chain([first], rows), MAX_ITEMS)]


def pairs(path: str, columns: Mapping[str, str]) -> list[PreferencePair]:
    """At most MAX_ITEMS preference pairs of JSON lines or CSV. Raises `Unreadable`."""
    rows = _rows(Path(path))
    first = None if rows is None else next(rows, None)
    if rows is None or first is None:
        raise Unreadable(path, "holds no rows of preference pairs", "give JSON lines or CSV with chosen and rejected")
    _check_roles(path, columns)
    names = _roles(path, first, columns, needed=("chosen", "rejected"))
    return [
        PreferencePair(
            prompt=as_text(_value(row, names.get("prompt"))),
            chosen=as_text(_value(row, names["chosen"])),
            rejected=as_text(_value(row, names["rejected"])),
            category=as_text(_value(row, names.get("category"))),
        )
        for row in islice(chain([first], rows), MAX_ITEMS)
    ]


def _rows(path: Path) -> Iterator[Mapping[str, Any]] | None:
    """The rows of JSON lines or CSV; None for anything else."""
    if not path.is_file() or path.suffix.lower() not in (".jsonl", ".ndjson", ".csv"):
        return None
    return csv_rows(path) if path.suffix.lower() == ".csv" else json_lines(path)


def _check_roles(path: str, columns: Mapping[str, str]) -> None:
    unknown = [role for role in columns if role not in NAMES]
    if unknown:
        raise Unreadable(path, f"{unknown[0]!r} is no role of a column", f"the roles are {', '.join(NAMES)}")


def _roles(path: str, row: Mapping[str, Any], columns: Mapping[str, str], needed: Sequence[str]) -> dict[str, str]:
    """Role -> column."""
    found = {role: next((n for n in names if n in row), "") for role, names in NAMES.items()} | dict(columns)
    for role, column in found.items():
        if (role in columns or role in needed) and (not column or column.partition(".")[0] not in row):
            asked = f"no column {column!r}" if column else f"no {role}"
            raise Unreadable(path, f"has {asked}, but {', '.join(map(str, row))}", f"name it: --column {role}=NAME")
    return {role: column for role, column in found.items() if column}


def _value(row: Mapping[str, Any], column: str | None) -> Any:
    """The cell; a "." in the column's name goes into an object."""
    value: Any = row
    for part in (column or "").split(".") if column else ():
        value = value.get(part) if isinstance(value, Mapping) else None
    return value if column else None


def _item(row: Mapping[str, Any], names: Mapping[str, str]) -> Item:
    prompt, answer = as_text(_value(row, names.get("prompt"))), _value(row, names.get("answer"))
    group = _value(row, names.get("group"))
    own = {names.get("prompt"), names.get("completion")}
    return Item(
        prompt=prompt,
        completion=as_text(_value(row, names["completion"])),
        answer=None if answer is None else as_text(answer),
        human=number(_value(row, names.get("human"))),
        group=prompt if group is None else as_text(group),
        reward=number(_value(row, names.get("reward"))),
        columns={str(name): value for name, value in row.items() if name not in own},
    )


def _from_run(path: str) -> list[Item]:
    run = read(path)
    found = [_of_sample(sample) for sample in islice(run.samples or (), MAX_ITEMS)]
    if not found:
        raise Unreadable(path, "holds no completions", "give a trainer's dump of samples, JSON lines or CSV")
    return found


def _of_sample(sample: Sample) -> Item:
    columns = {**sample.rewards, **sample.meta}  # a dump does not say which of its numbers are rewards
    names = {role: next((n for n in known if n in columns), "") for role, known in NAMES.items()}
    answer = columns.get(names["answer"])
    return Item(
        prompt=sample.prompt,
        completion=sample.completion,
        answer=None if answer is None else as_text(answer),
        human=number(columns.get(names["human"])),
        group=sample.group or sample.prompt,
        reward=sample.reward,
        columns=columns,
    )
