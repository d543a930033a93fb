"""The code with which trainers write samples, run without a trainer; and which files it wrote.

TRL's `GRPOTrainer.log`, verl's `_write_generations` (of its two trainers) and AReaL's `_dump_trajectory`. The functions of verl
and AReaL come out of the files as they ship: what these files import asks for engines.
"""

from __future__ import annotations
import __future__

import ast
import asyncio
import json
import os
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

BY_HAND = "by hand"
_State = tuple[int, int]  #: size in bytes, and when it was written last in nanoseconds

_wrote: dict[Path, tuple[str, _State]] = {}


def _states(folder: Path) -> dict[Path, _State]:
    files = (file for file in folder.rglob("*") if file.is_file())
    return {file.resolve(): (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


@contextmanager
def by_trainer(name: str, folder: Path) -> Iterator[None]:
    """Files that appear or change in the folder while this is open are this trainer's, unless they were begun by hand."""
    before = _states(folder)
    yield
    for file, state in _states(folder).items():
        if state != before.get(file) and (file not in before or _wrote.get(file) == (name, before[file])):
            _wrote[file] = (name, state)


def writers_of(folder: Path) -> set[str]:
    """Who wrote the files of a folder: trainers, and `BY_HAND` where one of the files is not as a trainer left it."""
    known = ((_wrote.get(file, (BY_HAND, state)), state) for file, state in _states(folder).items())
    return {name if left == state else BY_HAND for (name, left), state in known}


# --- verl ------------------------------------------------------------------------------------------------------------

VERL = "verl/trainer/ppo/ray_trainer.py"
VERL_V1 = "verl/trainer/ppo/v1/trainer_base.py"  #: the trainer that reads its samples from a queue
AREAL = "areal/infra/workflow_executor.py"


def verl_writes(folder: Path, step: int, source: str = VERL, **columns: Any) -> None:
    """`<folder>/<step>.jsonl`. `columns`: inputs, outputs, gts, scores, and reward_extra_infos_dict."""
    with redirect_stdout(StringIO()), by_trainer("verl", folder):
        _shipped(source, "_write_generations")(**columns, dump_path=str(folder), global_steps=step)


@cache
def _shipped(source: str, name: str) -> Callable[..., Any]:
    """A function out of a file of an installed trainer."""
    file = Path(sys.prefix) / "trackers" / source
    if not file.exists():
        raise FileNotFoundError(f"{file}: this trainer is not installed there; `make setup-test` does it")
    tree = ast.parse(file.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = next(node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name)
    found.decorator_list = []
    known: dict[str, Any] = {"json": json, "os": os, "np": np}
    if source == AREAL:
        import aiofiles.os

        known |= {"aiofiles": aiofiles, "RTensor": SimpleNamespace(localize=lambda it: it)}  # tensors are here already
    flags = __future__.annotations.compiler_flag
    exec(compile(ast.Module([found], []), str(file), "exec", flags), known)
    return known[name]


# --- AReaL -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spoken:
    """One sample as pieces of text, each from the policy or from outside (the prompt, the chat template, tools)."""

    pieces: Sequence[tuple[str, bool]]  #: text, and whether the policy wrote it; the first one is the prompt
    reward: float
    version: int  #: of the policy

    def tokens(self) -> tuple[list[int], list[int]]:
        """A token for each character, and the loss mask."""
        ids = [ord(letter) for text, _ in self.pieces for letter in text]
        return ids, [int(own) for text, own in self.pieces for _ in text]


def areal_writes(folder: Path, tasks: Sequence[Sequence[Spoken]]) -> None:
    """`<folder>/<version>/<task>.jsonl`: the samples of each task, with tensors as AReaL's workflows fill them."""
    decoder = SimpleNamespace(decode=lambda ids, skip_special_tokens: "".join(map(chr, ids)))
    executor = SimpleNamespace(_get_dump_dir=lambda is_eval: str(folder), _get_tokenizer=lambda: decoder)
    dump: Callable[..., Coroutine[Any, Any, tuple[bool, str]]] = _shipped(AREAL, "_dump_trajectory")

    async def every() -> None:
        for number, task in enumerate(tasks):
            done, why = await dump(executor, _tensors(task), number, False)
            if not done:
                raise RuntimeError(f"AReaL does not write task {number}: {why}")

    with by_trainer("AReaL", folder):
        asyncio.run(every())


def _tensors(task: Sequence[Spoken]) -> dict[str, np.ndarray]:
    """Padded on the right; what the policy did not write has no loss, and version -1."""
    samples = [sample.tokens() for sample in task]
    shape = (len(task), max(len(ids) for ids, _ in samples))
    made = {name: np.zeros(shape, int) for name in ("input_ids", "loss_mask", "attention_mask")}
    made |= {"versions": np.full(shape, -1), "rewards": np.array([sample.reward for sample in task])}
    for row, (ids, own) in enumerate(samples):
        made["input_ids"][row, : len(ids)] = ids
        made["loss_mask"][row, : len(ids)] = own
        made["attention_mask"][row, : len(ids)] = 1
        made["versions"][row, : len(ids)] = np.where(own, task[row].version, -1)
    return made
