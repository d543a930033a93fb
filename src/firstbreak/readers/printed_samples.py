"""Samples that a script prints, one a line, into a text file of their own.

--- step 20 ---
prompt: '24+3='  response: '27'  reward: 1
[step 20] 1 7 7 6 <sep> -> 1 6 7 7 <eos>  score=1.40
user: d+g?   >c![6]>g![3]=17#   gold=4 reward=0 adv=-0.35      the prompt ends where wide spaces or a bar begin
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firstbreak.model import Sample
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._literal import number
from firstbreak.readers._samples import samples_of, shape_of
from firstbreak.readers.sample_dump import lines

DESCRIPTION = "samples that a script prints into a text file, one a line"
FILES = ("*.txt",)
PRIORITY = 5  #: above a console log
ENOUGH, MOSTLY = 4, 0.7  #: lines of the head that are samples, and of those that are not blank (convention)
MAX_LINE = 20_000

_STEP = re.compile(r"^\W*(?:step|iter|iteration|update|epoch)\W{0,3}(\d{1,12})\b\W*", re.IGNORECASE)
_QUOTED = re.compile(
    r"""\b([A-Za-z_]\w{0,30})\s?[:=]\s?('(?:[^'\\]|\\.){0,4000}'|"(?:[^"\\]|\\.){0,4000}"|[-+]?\d[\d.e+-]*)"""
)
_TOLD = re.compile(
    r"[\s|\[(,;]{1,20}(reward|score|gold|answer|target|label|expected|adv|correct)[ =:]{1,3}([-+]?\d[\d.e+-]*|\w+)[\])]?$",
    re.IGNORECASE,
)
_BETWEEN = re.compile(r"\s{0,20}(?:->|=>|→|\|)\s{0,20}|\s{2,20}")


def sniff(path: Path, head: bytes) -> bool:
    """Most lines are samples: a prompt, a completion and what was said of it, or both between quotes."""
    found = [line for line in head.decode("utf-8", "replace").splitlines()[:-1] if line.strip()]
    kept = [_record(line) for line in found if not _is_step(line)]
    return len(kept) >= ENOUGH and sum(record is not None for record in kept) >= MOSTLY * len(kept)


def read(path: Path, resume: Any = None) -> Recording:
    """Says that the file holds samples; `samples` streams them."""
    if next(samples(path), None) is None:
        raise Unreadable(path, "holds no sample", "print a prompt, a completion and its reward in each line")
    return Recording(format="printed_samples", has_samples=True)


def samples(path: Path) -> Iterator[Sample]:
    """Every sample, with the step of its line or of the heading before it."""
    return samples_of(_records(path), path)


def _records(path: Path) -> Iterator[dict[str, Any]]:
    step: float | None = None
    for raw in lines(path):
        line = raw[:MAX_LINE].decode("utf-8", "replace")
        if _is_step(line):
            step = float(_STEP.match(line)[1])  # type: ignore[index]
        elif (record := _record(line)) is not None:
            yield {"step": step} | record


def _is_step(line: str) -> bool:
    found = _STEP.match(line)
    return found is not None and not line[found.end() :].strip(" -=#*:]")


def _record(line: str) -> dict[str, Any] | None:
    """The parts of one line; None where it is no sample."""
    text, record = line.strip(), dict[str, Any]()
    if found := _STEP.match(text):
        record["step"], text = float(found[1]), text[found.end() :]
    quoted = {name.lower(): value for name, value in _QUOTED.findall(text)}
    if (shape := shape_of(quoted)) is not None and quoted.get(shape.completion, "")[:1] in "'\"":
        return record | {name: value[1:-1] if value[0] in "'\"" else number(value) for name, value in quoted.items()}
    told = dict[str, Any]()
    while found := _TOLD.search(text):
        told[found[1].lower()] = found[2] if (value := number(found[2])) is None else value
        text = text[: found.start()]
    parts = _BETWEEN.split(text, maxsplit=1)
    if len(parts) != 2 or not all(parts) or not (told.keys() & {"reward", "score"}):
        return None
    return record | told | {"prompt": parts[0], "completion": parts[1]}
