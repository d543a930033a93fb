"""Lightning: `Trainer(callbacks=[lightning.callback(guard)])`.

Metrics are the values that the module logs (`self.log`). A batch is the argument of `training_step`. The guard is asked
before every optimizer step. A crash is stored without `with guard:`, because Lightning calls `on_exception`.
"""

from __future__ import annotations

import re
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firstbreak.live.guard.adapters import torch as shared
from firstbreak.live.guard.bundle import FileContent
from firstbreak.live.guard.decision import Act
from firstbreak.live.guard.guard import Guard

if TYPE_CHECKING:
    from pytorch_lightning import Callback

_STEP = re.compile(r"step=(\d+)")  # in the default name of a checkpoint


def callback(guard: Guard) -> Callback:
    """A callback for `Trainer`."""
    from pytorch_lightning import Callback

    class Guarded(Callback):
        """The hooks of the library."""

        def __init__(self) -> None:
            self._batch: Any = None
            self._random: dict[str, Any] = {}

        def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
            guard.config |= {str(name): value for name, value in pl_module.hparams.items()}
            guard.attach("lightning", lambda: self._files(trainer, pl_module), update_hooks=True)

        def on_train_batch_start(self, trainer: Any, pl_module: Any, batch: Any, batch_idx: int) -> None:
            if guard.begin_update():
                self._batch, self._random = batch, shared.random_state()

        def on_before_optimizer_step(self, trainer: Any, pl_module: Any, optimizer: Any) -> None:
            shared.ask(guard, optimizer, {})  # torch's hook would run before the closure that computes the gradients

        def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
            keeper = trainer.checkpoint_callback
            for path in () if keeper is None else (keeper.last_model_path, keeper.best_model_path):
                if match := _STEP.search(Path(path or "").name):
                    guard.checkpoint(float(match[1]), path)
            loss = outputs.get("loss") if isinstance(outputs, dict) else outputs
            decision = guard.observe(trainer.global_step, {"loss": loss, **trainer.callback_metrics})
            if decision.act is Act.REDUCE:
                shared.reduce_rate(trainer.optimizers, [c.scheduler for c in trainer.lr_scheduler_configs])
            trainer.should_stop |= decision.stop

        def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
            if isinstance(exception, Exception):
                crash = "".join(traceback.format_exception(exception))
                guard.incident(f"{type(exception).__name__}: {exception}", crash=crash)

        def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
            guard.close()

        def _files(self, trainer: Any, module: Any) -> dict[str, FileContent]:
            return {
                "state.pt": shared.saved(lambda: shared.state(module, trainer.optimizers, self._random)),
                "batch.pt": shared.saved(lambda: shared.plain(self._batch)),
            }

    return Guarded()


def replay(built: Any, bundle: Path) -> dict[str, float]:
    """Loss and gradient norm of the bundle's update. `built` is (module, list of its optimizers)."""
    module, optimizers = built
    shared.restore(shared.load(bundle / "state.pt"), module, optimizers)
    result = module.training_step(shared.load(bundle / "batch.pt"), 0)
    loss = result["loss"] if isinstance(result, dict) else result
    loss.backward()
    return {"loss": loss.item(), "grad.norm": shared.gradient_norm(optimizers)}
