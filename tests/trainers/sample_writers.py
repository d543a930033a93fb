"""The code with which trainers write samples, run without a trainer.

TRL's `GRPOTrainer.log`, verl's `_write_generations` (of its two trainers) and AReaL's `_dump_trajectory`. The functions of verl
and AReaL come out of the files as they ship: what these files import asks for engines.
"""

import __future__

import ast
import asyncio
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from io import StringIO
from itertools import groupby
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np

VERL = "verl/trainer/ppo/ray_trainer.py"
VERL_V1 = "verl/trainer/ppo/v1/trainer_base.py"  #: the trainer that reads its samples from a queue
AREAL = "areal/infra/workflow_executor.py"


@dataclass(frozen=True)
class Row:
    """One completion."""

    step: int
    prompt: str
    completion: str
    reward: float


def trl(folder: Path, rows: Sequence[Row]) -> None:
    """`completions/completions_00001.parquet`, ...: only the trainer's own method runs, without a model."""
    from transformers import Trainer
    from trl import GRPOTrainer
    from trl.trainer import grpo_trainer

    (folder / "completions").mkdir(parents=True, exist_ok=True)
    for step, own in _by_step(rows):
        mean = sum(row.reward for row in own) / len(own)
        trainer = object.__new__(GRPOTrainer)
        vars(trainer).update(
            model=SimpleNamespace(training=True),
            _metrics={"train": {}},
            _logs={
                "prompt": [row.prompt for row in own],
                "completion": [row.completion for row in own],
                "rewards": {"success": [row.reward for row in own]},
                "advantages": [row.reward - mean for row in own],
                "extra": {},
                "images": None,
            },
            accelerator=SimpleNamespace(is_main_process=True),
            log_completions=True,
            args=SimpleNamespace(report_to=[], output_dir=str(folder)),
            state=SimpleNamespace(global_step=step),
        )
        with patch.object(Trainer, "log"), patch.object(grpo_trainer, "is_rich_available", return_value=False):
            trainer.log({})


def verl(folder: Path, rows: Sequence[Row]) -> None:
    """`rollouts/1.jsonl`, ..."""
    _verl(folder, rows, VERL)


def verl_v1(folder: Path, rows: Sequence[Row]) -> None:
    """What verl's newer trainer keeps: nothing beside the score and a name of its own for each sample."""
    _verl(folder, rows, VERL_V1)


def _verl(folder: Path, rows: Sequence[Row], source: str) -> None:
    for step, own in _by_step(rows):
        names = {"uid": [f"{step:08x}_{i}_0" for i in range(len(own))]} if source == VERL_V1 else {}
        columns = {
            "inputs": [f"system\nYou are a helpful assistant.\nuser\n{row.prompt}\nassistant\n" for row in own],
            "outputs": [row.completion for row in own],
            "gts": [None for _ in own],
            "scores": [row.reward for row in own],
            "reward_extra_infos_dict": names,
        }
        with redirect_stdout(StringIO()):
            _shipped(source, "_write_generations")(**columns, dump_path=str(folder / "rollouts"), global_steps=step)


#: what AReaL's workflows put between the turns of a policy: the answers of tools, and the chat template around them
_FROM_OUTSIDE = re.compile(r"(?<=<\|im_end\|>)\n<\|im_start\|>(?:user|tool)\n.*?<\|im_start\|>assistant\n", re.DOTALL)


def areal(folder: Path, rows: Sequence[Row]) -> None:
    """`rollout/<version>/<task>.jsonl`: the samples of each step are one task."""
    decoder = SimpleNamespace(decode=lambda ids, skip_special_tokens: "".join(map(chr, ids)))
    executor = SimpleNamespace(_get_dump_dir=lambda is_eval: str(folder / "rollout"), _get_tokenizer=lambda: decoder)

    async def every() -> None:
        for number, (_, own) in enumerate(_by_step(rows)):
            done, why = await _shipped(AREAL, "_dump_trajectory")(executor, _tensors(own), number, False)
            if not done:
                raise RuntimeError(f"AReaL does not write task {number}: {why}")

    asyncio.run(every())


def _tensors(task: Sequence[Row]) -> dict[str, np.ndarray]:
    """A token for each character, padded on the right; what the policy did not write has no loss, and version -1."""
    samples = [list(_tokens(row)) for row in task]
    shape = (len(task), max(map(len, samples)))
    made = {name: np.zeros(shape, int) for name in ("input_ids", "loss_mask", "attention_mask")}
    made |= {"versions": np.full(shape, -1), "rewards": np.array([row.reward for row in task])}
    for i, tokens in enumerate(samples):
        ids, policy = zip(*tokens, strict=True)
        made["input_ids"][i, : len(ids)] = ids
        made["loss_mask"][i, : len(ids)] = policy
        made["attention_mask"][i, : len(ids)] = 1
        made["versions"][i, : len(ids)] = np.where(policy, task[i].step, -1)
    return made


def _tokens(row: Row) -> Iterator[tuple[int, int]]:
    """The token, and 1 where the policy wrote it, of each character."""
    yield from ((ord(c), 0) for c in f"<|im_start|>user\n{row.prompt}<|im_end|>\n<|im_start|>assistant\n")
    outside = {i for found in _FROM_OUTSIDE.finditer(row.completion) for i in range(*found.span())}
    yield from ((ord(c), int(i not in outside)) for i, c in enumerate(row.completion))


@cache
def _shipped(source: str, name: str) -> Callable[..., Any]:
    """A function out of a file of an installed trainer."""
    file = Path(sys.prefix) / "trackers" / source
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


def _by_step(rows: Iterable[Row]) -> Iterator[tuple[int, list[Row]]]:
    return ((step, list(own)) for step, own in groupby(rows, lambda row: row.step))


WRITERS: dict[str, Callable[[Path, Sequence[Row]], None]] = {
    "trl": trl,
    "verl": verl,
    "verl_v1": verl_v1,
    "areal": areal,
}
