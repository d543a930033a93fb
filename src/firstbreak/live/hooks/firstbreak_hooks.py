"""Interventions without an option of the trainer, made in the trainer's process without a change to its code.

Modules in `CHANGES` are changed directly after their import, by a function of another module. Every intervention that is in force
is logged in `interventions.jsonl` of the trial's folder. Measurements are logged in `watch.jsonl`, one row per batch.

For any other trainer, add one line for each copy of the weights. The line does nothing outside an experiment:

    from firstbreak_hooks import record_weights
    record_weights("trainer", step, model.named_parameters())
"""

from __future__ import annotations

import hashlib
import importlib
import json
import os
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from types import ModuleType
from typing import Any

from firstbreak_imports import when_imported

Wanted = Mapping[str, Any]


def wanted() -> Wanted:
    """The interventions of this trial."""
    interventions: Wanted = json.loads(os.environ.get("FIRSTBREAK_INTERVENE", "{}"))
    return interventions


def install() -> None:
    """Change the known modules when they are imported, and start to measure the process."""
    when_imported(CHANGES, after=change)
    if "process" in wanted().get("watch", ""):
        importlib.import_module("firstbreak_process").watch_machine()


def change(module: ModuleType) -> None:
    """Change a known module."""
    file, function = CHANGES[module.__name__]
    getattr(importlib.import_module(file), function)(module, wanted())


def note(file: str, **row: Any) -> None:
    """Append one line to a file of the trial's folder. Does nothing outside a trial."""
    if folder := os.environ.get("FIRSTBREAK_FOLDER"):
        with open(os.path.join(folder, file), "a") as lines:
            lines.write(json.dumps(row) + "\n")


def ignore_errors() -> AbstractContextManager[None]:
    """A context for measurements: an error ends the measurement and never the training."""
    return suppress(Exception)


def took_hold(what: str, value: Any, where: str) -> None:
    """Log that an intervention is in force."""
    note("interventions.jsonl", intervention=what, value=value, where=where)


def record_weights(side: str, step: int, tensors: Iterable[tuple[str, Any]]) -> None:
    """Log a hash of each tensor of one side ("trainer", "engine" or "evaluation"), and its adapters. Only inside a trial."""
    if not os.environ.get("FIRSTBREAK_FOLDER"):
        return
    held = {name.removeprefix("module."): tensor for name, tensor in tensors}
    adapters = sorted({match[1] for name in held if (match := re.search(r"lora_[AB]\.(\w+)", name))})
    hashes = {name: _hash(tensor) for name, tensor in held.items()}
    note("weights.jsonl", side=side, step=step, hashes=hashes, adapters=adapters)
    note("watch.jsonl", **{f"{side}_bits": max(map(_bits, held.values()), default=0)})


def _hash(tensor: Any) -> str:
    import torch  # the tensor is one of torch's

    plain = tensor.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(plain.numpy().tobytes()).hexdigest()[:16]


def _bits(tensor: Any, most: int = 4096) -> int:
    """Significant bits of the values of a tensor: 24 for an fp32 tensor, 8 for a tensor with values rounded to bf16."""
    import torch

    mantissa, _ = torch.frexp(tensor.detach().to("cpu").reshape(-1)[:most].float())
    whole = (mantissa.abs() * 2**24).int()
    lowest = whole & -whole  # 2 ** (zeros at the end)
    return int((24 - torch.log2(lowest[lowest > 0].float())).max()) if bool((lowest > 0).any()) else 0


#: module -> the module that changes it, and the function there. A trainer of one's own adds its own when it is imported
CHANGES: dict[str, tuple[str, str]] = {
    "trl.trainer.grpo_trainer": ("firstbreak_trl", "online"),
    "trl.trainer.rloo_trainer": ("firstbreak_trl", "online"),
    "trl.trainer.reward_trainer": ("firstbreak_trl", "preferences"),
    "trl.trainer.dpo_trainer": ("firstbreak_trl", "preferences"),
    "transformers.trainer": ("firstbreak_trl", "transformers"),
    "stable_baselines3.common.base_class": ("firstbreak_sb3", "algorithms"),
    "stable_baselines3.common.on_policy_algorithm": ("firstbreak_sb3", "on_policy"),
    "torch.optim.optimizer": ("firstbreak_process", "optimizers"),
}
