"""TRL and every other `transformers.Trainer` (GRPO, RLOO, DPO, reward models): `trl.attach(trainer, guard)`.

Metrics come from a callback of the library. The guard is asked before every optimizer step. To run an update again, a bundle
stores the inputs of `compute_loss` (which include the rollouts of any engine) and the random numbers before the update.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstbreak.live.guard.adapters import torch as shared
from firstbreak.live.guard.bundle import FileContent
from firstbreak.live.guard.decision import Act
from firstbreak.live.guard.guard import Guard
from firstbreak.model import Sample

if TYPE_CHECKING:
    from transformers import Trainer, TrainerCallback


def attach(trainer: Trainer, guard: Guard) -> TrainerCallback:
    """Guard a trainer before training starts. Returns the callback, which is already added."""
    from transformers import TrainerCallback

    update = Update(trainer)

    class Guarded(TrainerCallback):  # type: ignore[misc]  # untyped where it comes from
        """The hooks of the library."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            guard.trainer = guard.trainer or "trl"
            planned = {"max_steps": state.max_steps}  # the argument is -1 if num_train_epochs sets the length
            guard.config |= {"trainer_class": type(trainer).__name__, **args.to_dict(), **planned}
            guard.attach("trl", files, update_hooks=True)
            shared.ask_before_steps(guard, inner(given["optimizer"]), metrics=lambda: update.loss() | proofs(trainer))

        def on_step_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            update.begin(keep=guard.begin_update())

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
            decision = guard.observe(state.global_step, logs or {}, samples=samples(trainer, state.global_step))
            if decision.act is Act.REDUCE:
                shared.reduce_rate([inner(given["optimizer"])], [given["lr_scheduler"]])
            control.should_training_stop |= decision.stop

        def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            guard.checkpoint(state.global_step, Path(args.output_dir) / f"checkpoint-{state.global_step}")

        def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            guard.close()

    def files() -> dict[str, FileContent]:
        optimizer = inner(trainer.optimizer)
        state = partial(shared.state, trainer.model, [optimizer], update.random)
        return {
            "state.pt": shared.saved(lambda: state() | {"clip": trainer.args.max_grad_norm}),
            "batch.pt": shared.saved(lambda: shared.plain(update.batches)),
        }

    callback = Guarded()
    trainer.add_callback(callback)
    return callback


class Update:
    """The inputs of `compute_loss` in the current update, the random numbers before the update, and the losses.

    The library has no hook for this, and logs a rounded loss without NaNs. For this reason, `compute_loss` is wrapped.
    """

    def __init__(self, trainer: Any) -> None:
        self.batches: list[Any] = []
        self.random: dict[str, Any] = {}
        self._losses: list[Any] = []
        self._keep = True
        self._compute = trainer.compute_loss
        trainer.compute_loss = self._compute_loss

    def begin(self, *, keep: bool) -> None:
        """A new update begins. With `keep`, this update replaces the stored one."""
        self._keep = keep
        self._losses = []
        if keep:
            self.batches, self.random = [], {}

    def loss(self) -> dict[str, float]:
        """The mean over the micro-batches."""
        return {"loss": sum(map(float, self._losses)) / len(self._losses)} if self._losses else {}

    def _compute_loss(self, model: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
        if not model.training:
            return self._compute(model, inputs, *arguments, **options)
        if self._keep:
            self.random = self.random or shared.random_state()
            self.batches.append(inputs)
        result = self._compute(model, inputs, *arguments, **options)
        loss = result[0] if isinstance(result, tuple) else result
        self._losses.append(loss.detach())
        return result


def proofs(trainer: Any) -> dict[str, float]:
    """What a recorder among the callbacks has measured of the current update."""
    return {
        f"proof/{name}": value
        for callback in trainer.callback_handler.callbacks
        for name, value in getattr(callback, "numbers", {}).items()
    }


def inner(optimizer: Any) -> Any:
    """The torch optimizer inside accelerate's."""
    return getattr(optimizer, "optimizer", optimizer)


def samples(trainer: Any, step: int) -> Iterator[Sample]:
    """The completions of the last batch, if the trainer stores them for its log (`log_completions`)."""
    logs = getattr(trainer, "_logs", None)
    if not isinstance(logs, dict) or not logs.get("completion"):
        return
    for i, (prompt, completion) in enumerate(zip(logs["prompt"], logs["completion"], strict=False)):
        rewards = {name: float(values[i]) for name, values in logs["rewards"].items() if i < len(values)}
        advantage = float(logs["advantages"][i]) if i < len(logs["advantages"]) else None
        yield Sample(step=step, prompt=str(prompt), completion=str(completion), rewards=rewards, advantage=advantage)


def replay(built: Any, bundle: Path) -> dict[str, float]:
    """Loss and gradient norm of the bundle's update. `built` is the trainer."""
    import torch

    kept, batches = shared.load(bundle / "state.pt"), shared.load(bundle / "batch.pt")
    built.create_optimizer()
    shared.restore(kept, built.model, [built.optimizer])
    built._prepare_inputs = lambda inputs: inputs  # the stored batches are already prepared
    built.current_gradient_accumulation_steps = len(batches)
    update = Update(built)
    for batch in batches:
        built.training_step(built.model, batch, None)
    if kept["clip"]:
        torch.nn.utils.clip_grad_norm_(built.model.parameters(), kept["clip"])
    return {**update.loss(), "grad.norm": shared.gradient_norm([built.optimizer])}
