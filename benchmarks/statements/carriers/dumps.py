"""The files in which trainers keep samples.

TRL's, verl's and AReaL's are written by their own code (`trainers_code`), with samples that they did not make; NeMo-RL's as its
`train_data_step*.jsonl`; `plain` is JSON lines of a script of one's own.
"""

from __future__ import annotations

import json
import random
import re
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from benchmarks.statements.carriers.texts import Message
from benchmarks.statements.carriers.trainers_code import VERL_V1, Spoken, areal_writes, by_trainer, verl_writes

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
    quiet = patch.object(grpo_trainer, "is_rich_available", return_value=False)
    with patch.object(Trainer, "log"), quiet, by_trainer("TRL", folder):
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
        columns = {"inputs": prompts, "outputs": texts, "gts": answers, "scores": scores}
        verl_writes(folder / "rollouts", step, **columns, reward_extra_infos_dict=parts | extra)


def verl_v1(folder: Path, rows: Iterable[Row]) -> None:
    """What verl's newer trainer keeps: nothing beside the score and a name of its own for each sample."""
    for step, own in by_step(rows).items():
        seen: dict[int, int] = {}
        names = []
        for r in own:
            seen[r.group] = seen.get(r.group, -1) + 1
            names.append(f"{zlib.crc32(f'{step}/{r.group}'.encode()):08x}_{seen[r.group]}_0")
        columns = {
            "inputs": [f"system\nYou are a helpful assistant.\nuser\n{r.prompt}\nassistant\n" for r in own],
            "outputs": [r.completion for r in own],
            "gts": [r.answer for r in own],
            "scores": [r.reward for r in own],
        }
        verl_writes(folder / "rollouts", step, VERL_V1, **columns, reward_extra_infos_dict={"uid": names})


#: what AReaL's workflows put between the turns of a policy: the answers of tools, and the chat template around them
_FROM_OUTSIDE = re.compile(
    r"(?<=<\|im_end\|>)\n<\|im_start\|>(?:user|tool)\n.*?<\|im_start\|>assistant\n"
    r"|<\|start_header_id\|>ipython.*?assistant<\|end_header_id\|>\n\n"
    r"|<｜tool▁outputs▁begin｜>.*?<｜tool▁outputs▁end｜>",
    re.DOTALL,
)


def areal(folder: Path, rows: Iterable[Row]) -> None:
    """`rollout/<version>/<task>.jsonl`: a file for each task in the folder of its newest version."""
    areal_writes(folder / "rollout", [[_spoken(row) for row in own] for own in _tasks(rows)])


def _spoken(row: Row) -> Spoken:
    text = row.completion
    if not isinstance(text, str):
        raise TypeError("AReaL decodes tokens to text; messages cannot be written")
    pieces = [(f"<|im_start|>user\n{row.prompt}<|im_end|>\n<|im_start|>assistant\n", False)]
    at = 0
    for outside in _FROM_OUTSIDE.finditer(text):
        pieces += [(text[at : outside.start()], True), (outside[0], False)]
        at = outside.end()
    return Spoken([*pieces, (text[at:], True)], row.reward, row.step if row.version is None else row.version)


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
    "trl": trl, "verl": verl, "verl_v1": verl_v1, "areal": areal, "nemo_rl": nemo_rl, "plain": plain,
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
