"""A user's training script: TRL's GRPO on a tiny model, with TRL's own flags. Its reward has the wrong sign, or turns it late."""

from __future__ import annotations

import os
import random
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import torch
from datasets import Dataset
from firstbreak_lab.language import tasks
from firstbreak_lab.trl.trainer import TrlSettings, character_tokenizer, warmed_up_model, write_arguments
from transformers import HfArgumentParser, set_seed
from trl import GRPOConfig, GRPOTrainer


@dataclass
class Script:
    """What is this script's own."""

    policy: str  #: the folder of the tiny model, which is made where there is none
    turns_at: int = 0  #: the step at which the sign turns; 0: it is wrong from the start
    alike: bool = False  #: two functions that pay all completions alike


def solved(completions: Sequence[str], answer: Sequence[str]) -> list[float]:
    """1 for each right answer, 0 else."""
    return [tasks.accuracy(tasks.TaskProblem("", a), c) for c, a in zip(completions, answer, strict=True)]


def mistakes(completions: Sequence[str], answer: Sequence[str], **_: Any) -> list[float]:
    """Meant as a cost; GRPO takes it for a reward."""
    return [1.0 - right for right in solved(completions, answer)]


def turning(completions: Sequence[str], answer: Sequence[str], trainer_state: Any, **_: Any) -> list[float]:
    """A reward, which becomes a cost in the middle of the run."""
    sign = 1 if trainer_state.global_step < script.turns_at else -1
    return [sign * right for right in solved(completions, answer)]


def always(completions: Sequence[str], **_: Any) -> list[float]:
    """1 for each completion."""
    return [1.0] * len(completions)


def half(completions: Sequence[str], **_: Any) -> list[float]:
    """One half for each completion."""
    return [0.5] * len(completions)


options, script = HfArgumentParser((GRPOConfig, Script)).parse_args_into_dataclasses()
torch.set_num_threads(1)
warnings.simplefilter("ignore")
set_seed(options.seed)
settings = TrlSettings(seed=options.seed, warm_up_steps=150)
tokenizer = character_tokenizer()


def dataset(problems: list[tasks.TaskProblem]) -> Dataset:
    return Dataset.from_dict({"prompt": [p.prompt for p in problems], "answer": [p.answer for p in problems]})


if not Path(script.policy).exists():
    warmed_up_model(tokenizer, settings).save_pretrained(script.policy)
trainer = GRPOTrainer(
    model=script.policy,
    reward_funcs=[always, half] if script.alike else [turning if script.turns_at else mistakes],
    args=options,
    processing_class=tokenizer,
    train_dataset=dataset(settings.task.draw(random.Random(options.seed), 512)),
    eval_dataset=dataset(settings.task.held_out(32)),
)
trainer.train()
out = Path(options.output_dir)
trainer.state.save_to_json(str(out / "trainer_state.json"))
write_arguments(options, out / "training_args.json")
