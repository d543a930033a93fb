"""The files in which trainers keep samples.

TRL's are written as `GRPOTrainer.log` does it (a pandas table to parquet), verl's as `_write_generations`, AReaL's as
`_dump_trajectory`, NeMo-RL's as its `train_data_step*.jsonl`; `plain` is JSON lines of a script of one's own.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

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
        table: dict[str, list[Any]] = {
            "step": [step] * len(own),
            "prompt": [
                [{"role": "user", "content": r.prompt}] if isinstance(r.completion, list) else r.prompt for r in own
            ],
            "completion": [r.completion for r in own],
            **{name: [r.rewards[name] for r in own] for name in own[0].rewards},
            **{name: [r.extra[name] for r in own] for name in own[0].extra},
            **({"answer": [r.answer for r in own]} if own[0].answer is not None else {}),
            **({"policy_version": [r.version for r in own]} if own[0].version is not None else {}),
            "advantage": [r.reward - sum(groups[r.group]) / len(groups[r.group]) for r in own],
        }
        pd.DataFrame(table).to_parquet(folder / "completions" / f"completions_{step:05d}.parquet")


def verl(folder: Path, rows: Iterable[Row]) -> None:
    """`rollouts/1.jsonl`, ... with the reward's parts as extra information."""
    (folder / "rollouts").mkdir(parents=True, exist_ok=True)
    for step, own in by_step(rows).items():
        with (folder / "rollouts" / f"{step}.jsonl").open("w", encoding="utf-8") as out:
            for r in own:
                parts = r.rewards if len(r.rewards) > 1 else {}
                version = {} if r.version is None else {"min_global_steps": r.version, "max_global_steps": r.version}
                prompt = f"system\nYou are a helpful assistant.\nuser\n{r.prompt}\nassistant\n"
                entry = {"input": prompt, "output": r.completion, "gts": r.answer, "score": r.reward, "step": step}
                out.write(json.dumps(entry | parts | r.extra | version, ensure_ascii=False) + "\n")


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
