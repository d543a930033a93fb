"""An update of a trainer's actor, as its hooks see it: when it begins, its first loss, and that loss's gradient."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.measuring import Price
from firstbreak.live.recorder.seams import Look, Looking


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


def on_gradient(
    record: BatchRecorder, step: int, of: Any, shaped: Callable[[Any], Any] = lambda gradient: gradient, **given: Any
) -> None:
    """Measure the gradient of a tensor with what else is `given`, once the backward pass has it, in the shape of the rest."""

    def look(gradient: Any) -> None:
        with record.guarded("gradient"), record.measuring(Price.LOOK, step):
            record.batch(step, gradient=shaped(gradient), **given)

    of.register_hook(look)
