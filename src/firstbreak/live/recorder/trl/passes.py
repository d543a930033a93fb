"""Measured passes through a model: a few rows, in evaluation mode, without gradients and random numbers."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from firstbreak.live.recorder.isolated import same_random_numbers
from firstbreak.live.recorder.weights import dropouts

PROBED = 8  #: rows of a measured pass


def rows_of_pairs(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """A few pairs of a minibatch: chosen texts, then rejected ones."""
    n = len(inputs["input_ids"]) // 2
    few = list(range(min(PROBED // 2, n)))
    places = [*few, *(i + n for i in few)]
    rows = {key: inputs[key][places] for key in ("input_ids", "attention_mask")}
    sign = np.repeat([1.0, -1.0], len(few))
    width = rows["input_ids"].shape[1] - 1
    mask = inputs["completion_mask"][places][:, 1:] if "completion_mask" in inputs else np.ones((len(places), 1))
    return {**rows, "width": width, "mask": mask, "sign": sign, "places": places}


def forward(trainer: Any, tokenizer: Any, model: Any, rows: Mapping[str, Any]) -> tuple[Any, Any]:
    """Log-probabilities (m, width) of the last tokens and of the end token there; of a reward model, rewards (m, 1)."""
    import torch

    training = [module for module in model.modules() if module.training]
    model.eval()
    try:
        with torch.no_grad(), same_random_numbers():
            logits = model(input_ids=rows["input_ids"], attention_mask=rows["attention_mask"]).logits.float()
    finally:
        for module in training:
            module.training = True
    if logits.ndim == 2:
        return logits, None
    width = rows["width"]
    logits = logits[:, -width - 1 : -1] / float(getattr(trainer, "temperature", 1.0))
    each = torch.log_softmax(logits, -1)
    logps = each.gather(2, rows["input_ids"][:, -width:].unsqueeze(2)).squeeze(2)
    return logps, each[:, :, tokenizer.eos_token_id]


def dropping(trainer: Any) -> str:
    """The first dropout that is active."""
    return next((name for name in dropouts(trainer.model) if trainer.model.get_submodule(name).training), "")
