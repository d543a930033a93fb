"""Tiny trainers of TRL's own, with a fault to be injected."""

import atexit
import os
import random
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from datasets import Dataset
from firstbreak_lab.trl import trainer as lab
from transformers import PrinterCallback, set_seed
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

SETTINGS = lab.TrlSettings(warm_up_steps=20)


@cache
def policy() -> tuple[Path, Any]:
    """The folder of a model after a short warm-up, which every test of a process starts from, and its tokenizer."""
    set_seed(0)
    folder, tokenizer = Path(tempfile.mkdtemp(prefix="policy-")), lab.character_tokenizer()
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    lab.warmed_up_model(tokenizer, SETTINGS).save_pretrained(folder)
    return folder, tokenizer


def digits(completions: Sequence[str], **_: Any) -> list[float]:
    """The share of digits: something that completions of one prompt differ in."""
    return [sum(c.isdigit() for c in text) / max(len(text), 1) for text in completions]


def trainer(
    folder: Path, kind: str = "grpo", *, nan_from: float = float("inf"), adapter: Any = None, **options: Any
) -> Any:
    """A trainer for sorting digits; from the step `nan_from` on its loss is NaN. `adapter`: a configuration of PEFT."""
    start, tokenizer = policy()
    set_seed(0)
    problems = SETTINGS.task.draw(random.Random(0), 256)
    columns = {"prompt": [p.prompt for p in problems], "answer": [p.answer for p in problems]}
    shared: dict[str, Any] = {
        "output_dir": str(folder / "out"),
        "seed": 0,
        "report_to": "none",
        "use_cpu": True,
        "bf16": False,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "learning_rate": 5e-4,
        "per_device_train_batch_size": 16,
        "logging_steps": 1,
        **options,
    }
    built: Any
    if kind == "dpo":
        pairs = {
            "prompt": columns["prompt"],
            "chosen": columns["answer"],
            "rejected": [a[::-1] for a in columns["answer"]],
        }
        arguments = DPOConfig(max_length=32, **shared)
        built = DPOTrainer(
            str(start), args=arguments, processing_class=tokenizer, train_dataset=Dataset.from_dict(pairs)
        )
    else:
        configuration, make = {"grpo": (GRPOConfig, GRPOTrainer), "rloo": (RLOOConfig, RLOOTrainer)}[kind]
        arguments = configuration(beta=0.02, num_generations=4, max_completion_length=12, **shared)
        data = Dataset.from_dict(columns)
        built = make(str(start), [digits], arguments, data, processing_class=tokenizer, peft_config=adapter)
    built.remove_callback(PrinterCallback)
    compute_loss = built.compute_loss

    def faulty(*arguments: Any, **given: Any) -> Any:
        loss = compute_loss(*arguments, **given)
        return loss * float("nan") if built.state.global_step >= nan_from else loss

    built.compute_loss = faulty
    return built
