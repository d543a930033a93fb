"""A user's script for TRL: a tiny model, a task that can be checked, and what a fault may change before the training starts."""

import json
import os
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

os.environ.setdefault("HF_HUB_OFFLINE", "1")

from firstbreak_lab.language import tasks
from firstbreak_lab.trl import trainer as lab

RewardFunction = Callable[..., list[float | None]]


def accuracy(completions: list[str], answer: list[str], **_: Any) -> list[float | None]:
    """1 for filler followed by exactly the right answer, otherwise 0."""
    return [tasks.accuracy(tasks.TaskProblem("", a), c) for c, a in zip(completions, answer, strict=True)]


def digits(completions: list[str], **_: Any) -> list[float | None]:
    """The share of digits, as a reward for the form of an answer."""
    return [sum(c.isdigit() for c in text) / max(len(text), 1) for text in completions]


@dataclass
class Script:
    """What a user's script holds. The defaults are sound; a fault changes some of them."""

    kind: str = "grpo"  #: or "rloo", "dpo", "reward"
    seed: int = 0
    steps: int = 16
    rewards: list[RewardFunction] = field(default_factory=lambda: [accuracy])
    config: dict[str, Any] = field(default_factory=dict)  #: options of the trainer's configuration
    rows: list[Callable[[dict[str, Any]], dict[str, Any]]] = field(
        default_factory=list
    )  #: changes of a row of the data
    reference: Callable[[list[str]], list[str]] = lambda answers: answers  #: the column of right answers
    mixins: list[type] = field(default_factory=list)  #: classes that override methods of the trainer
    model: list[Callable[[Any], Any]] = field(default_factory=list)  #: changes of the model before the trainer is made
    options: dict[str, Any] = field(default_factory=dict)  #: further arguments of the trainer
    optimizer: Callable[[Any], Any] | None = None  #: model -> optimizer
    after: list[Callable[[Any], None]] = field(default_factory=list)  #: changes of the trainer once it is made
    callbacks: list[Any] = field(default_factory=list)


TASK = tasks.sort(4, max_filler=4)
WARM_UP = 150


def run(script: Script, out: Path, callbacks: list[Any] | None = None) -> Any:
    """Train into `out`, with what a user of TRL has afterwards: the trainer's state, arguments and completions."""
    import torch
    from transformers import PrinterCallback, set_seed
    from transformers.utils import logging as transformers_logging

    transformers_logging.set_verbosity_error()
    transformers_logging.disable_progress_bar()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        set_seed(script.seed)
        trainer = build(script, out)
        trainer.remove_callback(PrinterCallback)
        for change in script.after:
            change(trainer)
        for callback in [*script.callbacks, *(callbacks or [])]:
            trainer.add_callback(callback)
        trainer.train()
    trainer.state.save_to_json(str(out / "trainer_state.json"))
    lab.write_arguments(trainer.args, out / "training_args.json")
    _write_completions(out)
    return trainer


def build(script: Script, out: Path) -> Any:
    """The trainer of a script."""
    import trl
    from datasets import Dataset

    name = {"grpo": "GRPO", "rloo": "RLOO", "dpo": "DPO", "reward": "Reward"}[script.kind]
    rng = random.Random(script.seed)
    problems, held_out = TASK.draw(rng, 512), TASK.held_out(64)
    tokenizer = lab.character_tokenizer()
    model = _model(script, tokenizer)
    for change in script.model:
        model = change(model)
    shared: dict[str, Any] = {
        "output_dir": str(out),
        "max_steps": script.steps,
        "seed": script.seed,
        "report_to": "none",
        "save_strategy": "no",
        "use_cpu": True,
        "bf16": False,
        "disable_tqdm": True,
        "gradient_checkpointing": False,
        "learning_rate": 5e-4,
        "lr_scheduler_type": "constant",
        "logging_steps": 1,
        "per_device_train_batch_size": 64,
        "per_device_eval_batch_size": 64,
        "eval_strategy": "steps",
        "eval_steps": 5,
    }
    online = {"max_completion_length": 14, "num_generations": 8, "beta": 0.02, "log_completions": True}
    more: dict[str, Any] = online | {"num_completions_to_print": 0} if script.kind in ("grpo", "rloo") else {}
    arguments = getattr(trl, f"{name}Config")(**(shared | more | script.config))
    make = _rows if script.kind in ("grpo", "rloo") else _pairs
    data = {"train_dataset": make(problems, script.reference), "eval_dataset": make(held_out, lambda answers: answers)}
    for change_row in script.rows:
        data["train_dataset"] = [change_row(dict(row)) for row in data["train_dataset"]]
    given: dict[str, Any] = {key: Dataset.from_list(rows) for key, rows in data.items()}
    if more:
        given["reward_funcs"] = list(script.rewards)
    if script.optimizer is not None:
        given["optimizers"] = (script.optimizer(model), None)
    base = getattr(trl, f"{name}Trainer")
    trainer = type(base.__name__, (*script.mixins, base), {}) if script.mixins else base
    return trainer(model=model, args=arguments, processing_class=tokenizer, **given, **script.options)


def _rows(problems: list[tasks.TaskProblem], reference: Callable[[list[str]], list[str]]) -> list[dict[str, Any]]:
    answers = reference([p.answer for p in problems])
    return [{"prompt": p.prompt, "answer": a} for p, a in zip(problems, answers, strict=True)]


def _pairs(problems: list[tasks.TaskProblem], reference: Callable[[list[str]], list[str]]) -> list[dict[str, Any]]:
    """A right and a wrong answer each: the wrong one has two digits in the wrong order."""
    rng = random.Random(len(problems))
    pairs = []
    for problem, answer in zip(problems, reference([p.answer for p in problems]), strict=True):
        wrong = list(answer)
        while "".join(wrong) == answer:
            i, j = rng.sample(range(len(wrong)), 2)
            wrong[i] = rng.choice("0123456789") if wrong[i] == wrong[j] else wrong[j]
        pairs.append({"prompt": problem.prompt, "chosen": answer, "rejected": "".join(wrong)})
    return pairs


@cache
def _policy() -> Path:
    import tempfile

    from transformers import set_seed

    folder = Path(tempfile.mkdtemp()) / "policy"
    set_seed(0)
    settings = lab.TrlSettings(task=TASK, warm_up_steps=WARM_UP)
    lab.warmed_up_model(lab.character_tokenizer(), settings).save_pretrained(folder)
    return folder


def _model(script: Script, tokenizer: Any) -> Any:
    from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

    if script.kind != "reward":
        return AutoModelForCausalLM.from_pretrained(_policy())
    return AutoModelForSequenceClassification.from_pretrained(
        _policy(), num_labels=1, pad_token_id=tokenizer.pad_token_id
    )


def _write_completions(out: Path) -> None:
    """TRL's tables of completions as JSON lines: two groups of every fifth step."""
    import pandas

    tables = sorted((out / "completions").glob("completions_*.parquet"))
    rows = [pandas.read_parquet(table) for table in tables]
    kept = [table.head(16) for table in rows if int(table["step"].iloc[0]) % 5 == 2]
    if kept:
        (out / "completions.jsonl").write_text("".join(t.to_json(orient="records", lines=True) for t in kept))
    for table in tables:
        table.unlink()


def truth(path: Path) -> dict[str, Any]:
    """What was planted into the run in `path`."""
    planted: dict[str, Any] = json.loads((path / "planted.json").read_text())
    return planted
