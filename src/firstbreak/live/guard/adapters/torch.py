"""Any training loop with a torch optimizer, in three lines:

    loop = attach(guard, model, optimizer)
    for step, batch in enumerate(batches):
        loop.begin(batch)
        ...                                              # forward, backward, optimizer.step()
        if loop.observe(step, {"loss": loss.item()}).stop:
            break

The guard uses torch's hook before `optimizer.step()`. The hook measures the gradients. To skip an update, the hook removes the
gradients, so that the step changes nothing. This module also contains the functions that other adapters share.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from firstbreak.live.guard.bundle import FileContent, part_of
from firstbreak.live.guard.decision import REDUCTION, Act, GuardDecision
from firstbreak.live.guard.guard import Guard
from firstbreak.readers import Unreadable

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle


class Loop:
    """A guarded training loop. One optimizer step per `begin` can be replayed from a bundle."""

    def __init__(self, guard: Guard, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.guard, self.model, self.optimizer = guard, model, optimizer
        self._batch: Any = None
        self._random: dict[str, Any] = {}
        ask_before_steps(guard, optimizer)
        guard.attach("torch", self._files, update_hooks=True)

    def begin(self, batch: Any) -> None:
        """Call this before an update on a batch."""
        if self.guard.begin_update():
            self._batch, self._random = batch, random_state()

    def observe(self, step: float, metrics: Mapping[str, Any], **more: Any) -> GuardDecision:
        """As `Guard.observe`. If the decision is to reduce, this also reduces the learning rate."""
        decision = self.guard.observe(step, metrics, **more)
        if decision.act is Act.REDUCE:
            reduce_rate([self.optimizer])
        return decision

    def _files(self) -> dict[str, FileContent]:
        return {
            "state.pt": saved(lambda: state(self.model, [self.optimizer], self._random)),
            "batch.pt": saved(lambda: plain(self._batch)),
        }


def attach(guard: Guard, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> Loop:
    """Guard a loop that trains `model` with `optimizer`."""
    return Loop(guard, model, optimizer)


def replay(built: Any, bundle: Path) -> dict[str, float]:
    """Loss and gradient norm of the bundle's update. `built` is (model, optimizer, function of the batch to the loss)."""
    model, optimizer, loss_of = built
    restore(load(bundle / "state.pt"), model, [optimizer])
    batch = load(bundle / "batch.pt")
    optimizer.zero_grad()
    loss = loss_of(batch)
    loss.backward()
    return {"loss": loss.item(), "grad.norm": gradient_norm([optimizer])}


# What adapters share --------------------------------------------------------------------------------------------------


def ask_before_steps(
    guard: Guard, *optimizers: torch.optim.Optimizer, metrics: Callable[[], Mapping[str, float]] = dict
) -> list[RemovableHandle]:
    """Ask the guard before every step of these optimizers. `metrics()` returns more metrics of the update.

    Not for `step(closure)`, which computes the gradients after the hook.
    """

    def hook(optimizer: torch.optim.Optimizer, arguments: Any, options: Any) -> None:
        ask(guard, optimizer, metrics())

    return [optimizer.register_step_pre_hook(hook) for optimizer in optimizers]


def ask(guard: Guard, optimizer: torch.optim.Optimizer, metrics: Mapping[str, float]) -> None:
    """Give the guard the gradient norm before an optimizer step, and remove the gradients if the guard skips the update."""
    if guard.before_update({"grad.norm": gradient_norm([optimizer]), **metrics}).skip:
        drop_gradients(optimizer)


def gradient_norm(optimizers: Iterable[torch.optim.Optimizer]) -> float:
    """The Euclidean norm of all gradients before the optimizer step, after clipping if the trainer clips."""
    import torch

    grads = [p.grad for o in optimizers for group in o.param_groups for p in group["params"] if p.grad is not None]
    return float(torch.nn.utils.get_total_norm(grads)) if grads else 0.0


def drop_gradients(optimizer: torch.optim.Optimizer) -> None:
    """Remove all gradients. The optimizer skips a parameter without a gradient, including its momentum."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None


def reduce_rate(optimizers: Iterable[torch.optim.Optimizer], schedulers: Iterable[Any] = ()) -> None:
    """Multiply the learning rate by REDUCTION, also with a scheduler."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] *= REDUCTION
    for scheduler in schedulers:
        if hasattr(scheduler, "base_lrs"):
            scheduler.base_lrs = [rate * REDUCTION for rate in scheduler.base_lrs]


def random_state() -> dict[str, Any]:
    """The random states of Python, numpy and torch, as plain data and tensors."""
    import torch

    name, keys, *rest = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(np.asarray(keys).astype(np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: Mapping[str, Any]) -> None:
    """Restore all random states."""
    import torch

    name, keys, *rest = state["numpy"]
    random.setstate(state["python"])
    np.random.set_state((name, keys.numpy().astype(np.uint32), *rest))
    torch.set_rng_state(state["torch"])
    if torch.cuda.is_available() and state["cuda"]:
        torch.cuda.set_rng_state_all(state["cuda"])


def state(
    model: torch.nn.Module, optimizers: Iterable[torch.optim.Optimizer], random_numbers: Mapping[str, Any]
) -> dict[str, Any]:
    """The state for `restore`."""
    return {
        "model": model.state_dict(),
        "training": model.training,
        "optimizers": [o.state_dict() for o in optimizers],
        "random": dict(random_numbers),
    }


def restore(kept: Mapping[str, Any], model: torch.nn.Module, optimizers: Iterable[torch.optim.Optimizer]) -> None:
    """Restore weights, optimizers and random states from before the update."""
    model.load_state_dict(kept["model"])
    model.train(kept["training"])
    for optimizer, one in zip(optimizers, kept["optimizers"], strict=True):
        optimizer.load_state_dict(one)
    set_random_state(kept["random"])


def saved(content: Callable[[], Any]) -> FileContent:
    """The content of a file for `load`."""

    def write(file: BinaryIO) -> None:
        import torch

        torch.save(content(), file)

    return write


def load(path: Path) -> Any:
    """Load tensors and plain data, without executing code. Raises `Unreadable`."""
    import torch

    try:
        with part_of(path) as file:
            return torch.load(file, map_location="cpu", weights_only=True)
    except Unreadable:
        raise
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise Unreadable(path, f"cannot be loaded ({reason})", "see `lost` in bundle.json beside it") from None


def plain(value: Any) -> Any:
    """The value in a form that `load` accepts: containers of tensors and plain values. Other objects become text."""
    import torch

    match value:
        case torch.Tensor():
            return value.detach().cpu()
        case np.ndarray() if value.dtype.kind in "biuf":
            return torch.from_numpy(np.ascontiguousarray(value))
        case Mapping():
            return {str(name): plain(item) for name, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case np.generic():
            return value.item()
        case None | bool() | int() | float() | str():
            return value
        case _:
            return repr(value)
