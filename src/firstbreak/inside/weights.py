"""A few elements of each weight round the optimizer's steps: for every recorder that sees a torch model and its optimizer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from firstbreak.inside.batch import BatchRecorder, Price
from firstbreak.inside.identities.parameters import Sampled

ELEMENTS = 16  #: of each parameter


class Weights:
    """The weights of a model; `before` and `after` are called round a step that is measured, `stepped` after every step."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        self.model, self.optimizer = model, optimizer
        self.updates = 0  #: made so far
        self._last: tuple[int, Mapping[str, np.ndarray]] = (0, {})  #: updates made then, and what they left

    def stepped(self) -> None:
        """The optimizer made a step."""
        self.updates += 1

    @property
    def rate(self) -> float:
        """The largest learning rate of the optimizer's groups."""
        return max(float(group["lr"]) for group in self.optimizer.param_groups)

    def before(self) -> list[Sampled]:
        """The weights and gradients before a step."""
        named = self._parameters()
        owned = {id(p) for group in self.optimizer.param_groups for p in group["params"]}
        before = elements(p for _, p in named)
        known = self._last[1] if self._last[0] == self.updates else {}
        gradients = iter(elements(p.grad for _, p in named if p.grad is not None))
        return [
            Sampled(
                name=name,
                size=p.numel(),
                trainable=p.requires_grad,
                owned=id(p) in owned,
                gradient=next(gradients) if p.grad is not None else None,
                before=values,
                after=values,
                last=known.get(name),
            )
            for (name, p), values in zip(named, before, strict=True)
        ]

    @property
    def pending(self) -> bool:
        """The last step was measured: what the weights are now tells whether something else changed them."""
        return bool(self._last[1]) and self._last[0] == self.updates

    def after(self, sampled: list[Sampled], *, keep: bool = True) -> list[Sampled]:
        """The same elements after the step, which `stepped` has counted. `keep`: compare them before the next step."""
        after = elements(p for _, p in self._parameters())
        moved = [replace(p, after=values) for p, values in zip(sampled, after, strict=False)]
        if keep:
            self._last = self.updates, {p.name: p.after for p in moved}
        return moved

    def _parameters(self) -> list[tuple[str, Any]]:
        named = self.model.named_parameters()
        return [(name, p) for name, p in named if p.numel() and (p.requires_grad or "lora_" in name)]


def watch(recorder: BatchRecorder, model: Any, optimizer: Any) -> None:
    """Look at the weights round the optimizer's steps: of a loop's step all, and the first one of the next."""
    weights = Weights(model, optimizer)
    configured = float(optimizer.defaults["lr"])
    measured: list[Sampled] = []
    step: int | None = None
    open_ = False

    def note(given: Mapping[str, Any]) -> None:
        found = recorder.measure(recorder.step, given)
        recorder.numbers |= {name: max(value, recorder.numbers.get(name, value)) for name, value in found.items()}

    def before(*_: Any) -> None:
        nonlocal step, open_, measured
        if recorder.step != step:
            step, open_ = recorder.step, recorder.due(recorder.step, Price.WORK)
            with recorder.measuring(Price.LOOK, recorder.step):
                note({"rate": weights.rate, "configured_rate": configured})
        if open_ or weights.pending:
            with recorder.measuring(Price.WORK, recorder.step):
                measured = weights.before()

    def after(*_: Any) -> None:
        nonlocal measured
        weights.stepped()
        if measured:
            with recorder.measuring(Price.WORK, recorder.step):
                note({"parameters": weights.after(measured, keep=open_), "rate": weights.rate})
            measured = []

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)


def elements(tensors: Iterable[Any]) -> list[np.ndarray]:
    """A few elements of each tensor, in one transfer."""
    import torch

    parts = [_few(tensor) for tensor in tensors]
    if not parts:
        return []
    flat = torch.cat([part.float() for part in parts]).cpu().numpy()
    return list(np.split(flat, np.cumsum([len(part) for part in parts])[:-1]))


def finite(values: np.ndarray | None) -> bool:
    """Whether no number of a gradient is infinite or NaN."""
    return values is None or bool(np.isfinite(values).all())


def _few(tensor: Any) -> Any:
    flat = tensor.detach().reshape(-1)
    return flat[:: max(1, len(flat) // ELEMENTS)][:ELEMENTS]
