"""The files in which trainers keep samples.

TRL's are written by `GRPOTrainer.log` itself and verl's by its own `_write_generations`, each with samples that it did not make;
AReaL's as its `_dump_trajectory` does it, NeMo-RL's as its `train_data_step*.jsonl`; `plain` is JSON lines of a script of one's
own.
"""

from __future__ import annotations

import ast
import json
import os
import random
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from functools import cache
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from benchmarks.statements.carriers.texts import Message

Text = str | list[Message]


@dataclass(frozen=True)
class Row:
    """One completion."""

    step: int
    prompt: str
    completion: Text
    rewards: dict[str, float]  #: by reward function; the reward is their sum
    group: int = 0  #: the prompt's number within its step
    answer: str | None = None
    version: int | None = None  #: of the policy that made it
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def reward(self) -> float:
        """What was optimised."""
        return sum(self.rewards.values())


def by_step(rows: Iterable[Row]) -> dict[int, list[Row]]:
    """The rows of each step."""
    steps: dict[int, list[Row]] = {}
    for row in rows:
        steps.setdefault(row.step, []).append(row)
    return steps


def trl(folder: Path, rows: Iterable[Row]) -> None:
    """`completions/completions_00001.parquet`, ..."""
    (folder / "completions").mkdir(parents=True, exist_ok=True)
    for step, own in by_step(rows).items():
        groups: dict[int, list[float]] = {}
        for row in own:
            groups.setdefault(row.group, []).append(row.reward)
        extra = {name: [r.extra[name] for r in own] for name in own[0].extra}
        if own[0].answer is not None:
            extra["answer"] = [r.answer for r in own]
        if own[0].version is not None:
            extra["policy_version"] = [r.version for r in own]
        logs = {
            "prompt": [
                [{"role": "user", "content": r.prompt}] if isinstance(r.completion, list) else r.prompt for r in own
            ],
            "completion": [r.completion for r in own],
            "rewards": {name: [r.rewards[name] for r in own] for name in own[0].rewards},
            "advantages": [r.reward - sum(groups[r.group]) / len(groups[r.group]) for r in own],
            "extra": extra,
            "images": None,
        }
        _logged_by_trl(folder, step, logs)


def _logged_by_trl(folder: Path, step: int, logs: Mapping[str, Any]) -> None:
    """What TRL's trainer does with the samples of a step, without a model: only its own method runs."""
    from transformers import Trainer
    from trl import GRPOTrainer
    from trl.trainer import grpo_trainer

    trainer = object.__new__(GRPOTrainer)
    vars(trainer).update(
        model=SimpleNamespace(training=True),
        _metrics={"train": {}},
        _logs=logs,
        accelerator=SimpleNamespace(is_main_process=True),
        log_completions=True,
        args=SimpleNamespace(report_to=[], output_dir=str(folder)),
        state=SimpleNamespace(global_step=step),
    )
    with patch.object(Trainer, "log"), patch.object(grpo_trainer, "is_rich_available", return_value=False):
        trainer.log({})


def verl(folder: Path, rows: Iterable[Row]) -> None:
    """`rollouts/1.jsonl`, ... with the reward's parts as extra information."""
    for step, own in by_step(rows).items():
        parts = {name: [r.rewards[name] for r in own] for name in own[0].rewards} if len(own[0].rewards) > 1 else {}
        extra = {name: [r.extra[name] for r in own] for name in own[0].extra}
        if own[0].version is not None:
            extra |= {name: [r.version for r in own] for name in ("min_global_steps", "max_global_steps")}
        prompts = [f"system\nYou are a helpful assistant.\nuser\n{r.prompt}\nassistant\n" for r in own]
        texts, answers, scores = [r.completion for r in own], [r.answer for r in own], [r.reward for r in own]
        with redirect_stdout(StringIO()):
            verls_writer()(prompts, texts, answers, scores, parts | extra, str(folder / "rollouts"), step)


@cache
def verls_writer() -> Callable[..., None]:
    """verl's own function, out of the file as it ships: the file's imports ask for engines."""
    source = Path(sys.prefix) / "trackers" / "verl" / "trainer" / "ppo" / "ray_trainer.py"
    if not source.exists():
        raise FileNotFoundError(f"{source}: verl is not installed there; `make setup-test` does it")
    tree = ast.parse(source.read_text(encoding="utf-8"))
    writer = next(n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "_write_generations")
    writer.decorator_list = []
    known: dict[str, Any] = {"json": json, "os": os}
    exec(compile(ast.Module([writer], []), str(source), "exec"), known)  # a function of an installed package
    return known["_write_generations"]


def areal(folder: Path, rows: Iterable[Row]) -> None:
    """`rollout/<version>/<task>.jsonl`: a file for each task in the folder of its newest version."""
    for number, own in enumerate(_tasks(rows)):
        newest = own[0].step if own[0].version is None else own[0].version
        place = folder / "rollout" / str(newest)
        place.mkdir(parents=True, exist_ok=True)
        with (place / f"{number}.jsonl").open("a", encoding="utf-8") as out:
            for i, r in enumerate(own):
                entry = {
                    "task_id": number, "sample_idx": i, "seqlen": (len(r.prompt) + len(r.completion)) // 4,
                    "prompt_len": len(r.prompt) // 4, "head_version": newest, "tail_version": newest, "reward": r.reward,
                    "prompt": f"<|im_start|>user\n{r.prompt}<|im_end|>\n<|im_start|>assistant\n", "completion": r.completion,
                }  # fmt: skip
                out.write(json.dumps(entry) + "\n")


def _tasks(rows: Iterable[Row]) -> Iterable[list[Row]]:
    for own in by_step(rows).values():
        groups: dict[int, list[Row]] = {}
        for row in own:
            groups.setdefault(row.group, []).append(row)
        yield from groups.values()


def nemo_rl(folder: Path, rows: Iterable[Row]) -> None:
    """`train_data_step1.jsonl`, ...: the conversation as one text, every number in a list of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    for step, own in by_step(rows).items():
        with (folder / f"train_data_step{step}.jsonl").open("w", encoding="utf-8") as out:
            for i, r in enumerate(own):
                text = f"<|im_start|>user\n{r.prompt}<|im_end|>\n<|im_start|>assistant\n{r.completion}<|im_end|>\n"
                out.write(json.dumps({"content": [text], "rewards": [r.reward], "idx": i}) + "\n")


def plain(folder: Path, rows: Iterable[Row]) -> None:
    """`completions.jsonl`."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "completions.jsonl").open("w", encoding="utf-8") as out:
        for r in rows:
            parts = r.rewards if len(r.rewards) > 1 else {}
            known = {} if r.answer is None else {"answer": r.answer}
            version = {} if r.version is None else {"policy_version": r.version}
            entry = {"step": r.step, "prompt": r.prompt, "completion": r.completion, "reward": r.reward}
            out.write(json.dumps(entry | ({"rewards": parts} if parts else {}) | known | version | r.extra) + "\n")


WRITERS: dict[str, Callable[[Path, Iterable[Row]], None]] = {
    "trl": trl, "verl": verl, "areal": areal, "nemo_rl": nemo_rl, "plain": plain,
}  # fmt: skip


def run_of(
    make: Callable[[random.Random, float, int], list[Row]], rng: random.Random, *, steps: int = 30, prompts: int = 4
) -> list[Row]:
    """All rows of a run: `make(rng, t, step)` writes the completions to one prompt; t from 0 to 1."""
    rows: list[Row] = []
    for step in range(1, steps + 1):
        for group in range(prompts):
            own = make(rng, (step - 1) / max(1, steps - 1), step)
            rows += [Row(r.step, r.prompt, r.completion, r.rewards, group, r.answer, r.version, r.extra) for r in own]
    return rows
