"""What the recorders of several trainers share: tensors, advantages of tokens, and an update of the actor as its hooks see it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.measuring import Price
from firstbreak.live.recorder.seams import Look, Looking


def array(tensor: Any) -> np.ndarray:
    """A tensor as float64."""
    return np.asarray(tensor.detach().float().cpu().numpy(), dtype=float)


def finite(tensors: Mapping[str, Any]) -> dict[str, bool]:
    """For each tensor that is there, whether it is finite."""
    return {said: bool(t.isfinite().all()) for said, t in tensors.items() if t is not None and t.is_floating_point()}


def by_row(advantages: np.ndarray, mask: np.ndarray) -> dict[str, np.ndarray]:
    """The advantage of each completion, how far its tokens differ from it, and how many there are."""
    used = mask != 0
    count = used.sum(1)
    rows = (advantages * used).sum(1) / np.maximum(count, 1)
    uneven = (np.abs(advantages - rows[:, None]) * used).max(1)
    return {"advantages": rows, "uneven": uneven, "tokens": count.astype(float)}


def turns(mask: np.ndarray) -> bool:
    """Whether a token that counts follows one that does not, after others: text of a tool lies between."""
    return bool(((np.diff(mask, axis=1) > 0) & (np.cumsum(mask, axis=1)[:, :-1] > 0)).any())


def side_by_side() -> bool:
    """Whether several processes train, each on its part of the batch."""
    import torch

    spread = torch.distributed.is_available() and torch.distributed.is_initialized()
    return spread and torch.distributed.get_world_size() > 1


@dataclass
class ActorUpdate:
    """The update that runs in this process: its number, and whether its first loss is still to come."""

    number: int = 0
    waits: bool = False

    def begins(self, number: int | None = None) -> None:
        """The next update begins; its number is one more where the trainer does not say it."""
        self.number, self.waits = self.number + 1 if number is None else number, True

    def first(self, record: BatchRecorder, output: Any) -> bool:
        """Whether this is the first loss of the update, and there is time for it.

        `output`: what the loss is made of; without a gradient, nothing is trained. No later loss is the first one, whether
        there was time or not: after an optimizer step, the ratio is not 1 any more.
        """
        if not self.waits or not output.requires_grad:
            return False
        self.waits = False
        return record.due(self.number, Price.LOOK)


def beginning(update: ActorUpdate, number: Callable[[Mapping[str, Any]], int | None] = lambda _: None) -> Look:
    """What a hook at the begin of an update does. `number`: what says the number of the update."""

    def look(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
        update.begins(number(given))
        return
        yield

    return look


def numbering(update: ActorUpdate, name: str) -> Look:
    """What a hook does where the driver says the number of the update, as the argument of this name."""

    def look(record: BatchRecorder, given: Mapping[str, Any]) -> Looking:
        if given[name] is not None:
            update.number = int(given[name])
        return
        yield

    return look


def on_gradient(
    record: BatchRecorder, step: int, of: Any, shaped: Callable[[Any], Any] = lambda gradient: gradient, **given: Any
) -> None:
    """Measure the gradient of a tensor with what else is `given`, once the backward pass has it, in the shape of the rest."""

    def look(gradient: Any) -> None:
        with record.guarded("gradient"), record.measuring(Price.LOOK, step):
            record.batch(step, gradient=shaped(gradient), **given)

    of.register_hook(look)
