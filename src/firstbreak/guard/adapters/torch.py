"""Any loop around a torch optimizer, in three lines:

    loop = attach(guard, model, optimizer)
    for step, batch in enumerate(batches):
        loop.begin(batch)
        ...                                              # forward, backward, optimizer.step(), as ever
        if loop.observe(step, {"loss": loss.item()}).stop:
            break

The gate is torch's own hook before `optimizer.step()`: it measures the gradients, and where the update is to be left out it
takes them away, so that the step finds nothing to do. What other adapters share lies here as well.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from firstbreak.guard.bundle import Part
from firstbreak.guard.decision import REDUCTION, Act, Decision
from firstbreak.guard.guard import Guard
from firstbreak.readers import Unreadable

if TYPE_CHECKING:
    import torch
    from torch.utils.hooks import RemovableHandle


class Loop:
    """A guarded loop of the user's own. One optimizer step per `begin` can be run again from a bundle."""

    def __init__(self, guard: Guard, model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> None:
        self.guard, self.model, self.optimizer = guard, model, optimizer
        self._batch: Any = None
        self._random: dict[str, Any] = {}
        gate(guard, optimizer)
        guard.attach("torch", self._parts, gated=True)

    def begin(self, batch: Any) -> None:
        """An update on this batch begins."""
        if self.guard.begin_update():
            self._batch, self._random = batch, random_state()

    def observe(self, step: float, metrics: Mapping[str, Any], **more: Any) -> Decision:
        """As `Guard.observe`; what the policy lets be done without the loop's help is done."""
        decision = self.guard.observe(step, metrics, **more)
        if decision.act is Act.REDUCE:
            reduce_rate([self.optimizer])
        return decision

    def _parts(self) -> dict[str, Part]:
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


def gate(
    guard: Guard, *optimizers: torch.optim.Optimizer, beside: Callable[[], Mapping[str, float]] = dict
) -> list[RemovableHandle]:
    """Ask the guard before every step of these optimizers. `beside()` is what else is known of the update.

    Not for `step(closure)`, where the gradients are made after the hook.
    """

    def hook(optimizer: torch.optim.Optimizer, arguments: Any, options: Any) -> None:
        ask(guard, optimizer, beside())

    return [optimizer.register_step_pre_hook(hook) for optimizer in optimizers]


def ask(guard: Guard, optimizer: torch.optim.Optimizer, beside: Mapping[str, float]) -> None:
    """Show the guard the gradients that the optimizer is about to apply, and take them away where it says so."""
    if guard.before_update({"grad.norm": gradient_norm([optimizer]), **beside}).skip:
        drop_gradients(optimizer)


def gradient_norm(optimizers: Iterable[torch.optim.Optimizer]) -> float:
    """The Euclidean norm of all gradients, as the optimizer finds them: after clipping, where the trainer clips."""
    import torch

    grads = [p.grad for o in optimizers for group in o.param_groups for p in group["params"] if p.grad is not None]
    return float(torch.nn.utils.get_total_norm(grads)) if grads else 0.0


def drop_gradients(optimizer: torch.optim.Optimizer) -> None:
    """Leave the next step nothing to do: a parameter without a gradient is passed over, momentum included."""
    for group in optimizer.param_groups:
        for parameter in group["params"]:
            parameter.grad = None


def reduce_rate(optimizers: Iterable[torch.optim.Optimizer], schedulers: Iterable[Any] = ()) -> None:
    """Go on with half the learning rate, under a schedule as well."""
    for optimizer in optimizers:
        for group in optimizer.param_groups:
            group["lr"] *= REDUCTION
    for scheduler in schedulers:
        if hasattr(scheduler, "base_lrs"):
            scheduler.base_lrs = [rate * REDUCTION for rate in scheduler.base_lrs]


def random_state() -> dict[str, Any]:
    """Where Python's, numpy's and torch's random numbers stand, as plain data and tensors."""
    import torch

    name, keys, *rest = np.random.get_state()
    return {
        "python": random.getstate(),
        "numpy": (name, torch.from_numpy(np.asarray(keys).astype(np.int64)), *rest),
        "torch": torch.get_rng_state(),
        "cuda": torch.cuda.get_rng_state_all() if torch.cuda.is_available() else [],
    }


def set_random_state(state: Mapping[str, Any]) -> None:
    """Put all random numbers where they stood."""
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
    """What `restore` puts back."""
    return {
        "model": model.state_dict(),
        "training": model.training,
        "optimizers": [o.state_dict() for o in optimizers],
        "random": dict(random_numbers),
    }


def restore(kept: Mapping[str, Any], model: torch.nn.Module, optimizers: Iterable[torch.optim.Optimizer]) -> None:
    """Weights, optimizers and random numbers as they were before the update."""
    model.load_state_dict(kept["model"])
    model.train(kept["training"])
    for optimizer, one in zip(optimizers, kept["optimizers"], strict=True):
        optimizer.load_state_dict(one)
    set_random_state(kept["random"])


def saved(content: Callable[[], Any]) -> Part:
    """A file that `load` reads back."""

    def write(file: BinaryIO) -> None:
        import torch

        torch.save(content(), file)

    return write


def load(path: Path) -> Any:
    """Tensors and plain data, and nothing that would have to be executed. Raises `Unreadable`."""
    import torch

    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:
        reason = str(error).partition("\n")[0]
        raise Unreadable(path, f"cannot be loaded ({reason})", "see `lost` in bundle.json beside it") from None


def plain(value: Any) -> Any:
    """Containers of tensors and plain values, as `load` accepts them: arrays become tensors, all else its text."""
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
