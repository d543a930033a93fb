"""The callback: it finds the trainer that calls it, keeps its log, and writes what was measured."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.measuring import SHARE, Price
from firstbreak.live.recorder.trl.wrapped_methods import WrappedMethods
from firstbreak.masking import Mask
from firstbreak.written import write

EVERY = 30.0  #: seconds between two copies of the trainer's log, at least
SAVED = ".recorder_saved.json"
CHECKPOINTS = 32  #: that are kept in it
ARGUMENTS = "recorder_arguments.json"


def recorder(folder: str | Path | None = None, share: float = SHARE, *, rescore: bool = True) -> Recorder:
    """What measures identities of a training run: `callbacks=[firstbreak.recorder()]` in TRL, `record.batch(...)` in a loop.

    `folder`: where the numbers are written (default: the trainer's `output_dir`; in a loop, nothing is written without one).
    `share`: of the run's time that the measurements may take. `rescore=False` leaves the reward functions alone (TRL).
    """
    return Recorder(folder, share, rescore=rescore)


class Recorder(BatchRecorder):
    """A callback for TRL's GRPOTrainer, RLOOTrainer, DPOTrainer and RewardTrainer, and their subclasses.

    It writes into `folder` (default: the trainer's `output_dir`). `rescore`: call copies of the reward functions again with known
    texts; they must then be cheap and free of side effects beyond their own state.
    """

    def __init__(self, folder: str | Path | None = None, share: float = SHARE, *, rescore: bool = True) -> None:
        super().__init__(folder, share)
        self.rescore = rescore
        self.wrapped: WrappedMethods | None = None
        self._next = 0.0  #: when the trainer's log may be kept again

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Find the trainer, and look into it from here on."""
        with self.measuring(Price.LOOK, int(state.global_step) + 1):
            trainer = _calling_trainer()
            if trainer is None or not state.is_world_process_zero or self.wrapped is not None:
                return
            self.files.folder = self.files.folder or Path(args.output_dir)
            self.wrapped = WrappedMethods(trainer, self, given["optimizer"], rescore=self.rescore)
            saved = self._saved().get(str(state.global_step), [])
            if saved and state.global_step:
                kept = self.wrapped.weights.between.kept()
                self.numbers |= self.measure(int(state.global_step) + 1, {"resumed": kept, "saved": saved})

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Write what was measured in this step."""
        with self.measuring(Price.LOOK, int(state.global_step)):
            self.files.write(state.global_step, self.numbers)
            self.numbers = {}

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Keep what the weights are at a checkpoint."""
        if self.wrapped is None or self.files.folder is None:
            return
        with self.measuring(Price.LOOK, int(state.global_step)):
            kept = {**self._saved(), str(state.global_step): self.wrapped.weights.between.kept()}
            last = dict(sorted(kept.items(), key=lambda pair: int(pair[0]))[-CHECKPOINTS:])
            write(self.files.folder / SAVED, json.dumps(last).encode())

    def _saved(self) -> dict[str, list[float]]:
        """Step -> a few elements of the weights at its checkpoint."""
        from firstbreak.readers import Unreadable, opening

        if self.files.folder is None:
            return {}
        try:
            with opening.beneath(self.files.folder), opening.open_file(self.files.folder / SAVED) as file:
                return {str(int(step)): [float(v) for v in values] for step, values in json.loads(file.read()).items()}
        except (OSError, Unreadable, ValueError, TypeError, AttributeError):
            return {}

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """The trainer writes its log with a checkpoint only: keep it now and then."""
        if self.wrapped is not None and self.clock() > self._next:
            self._keep(args, state)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Keep the trainer's log and arguments, and write what is left."""
        if self.wrapped is not None:
            self._keep(args, state)
            with self.measuring(Price.LOOK, int(state.global_step)):
                left = self.measure(int(state.global_step), self.wrapped.weights.between.read())
                self.files.write(state.global_step, left)

    def _keep(self, args: Any, state: Any) -> None:
        """What `trainer.save_state()` writes, and the arguments as JSON, without folders and secrets."""
        folder, began = self.files.folder, self.clock()
        if folder is None or self.wrapped is None or not state.is_world_process_zero:
            return
        with self.measuring(Price.LOOK, int(state.global_step)):
            part = folder / "trainer_state.part"  # the trainer's own writer empties a file first
            state.save_to_json(str(part))
            part.replace(part.with_suffix(".json"))
            named = {k: v for k, v in args.to_dict().items() if not k.endswith("_dir")}
            classes = (c.__name__ for c in type(self.wrapped.trainer).__mro__ if c.__module__.startswith("trl."))
            values = Mask(os.environ).tree(named | {"trainer_class": next(classes, "")})
            write(folder / ARGUMENTS, (json.dumps(values, indent=1, sort_keys=True, default=str) + "\n").encode())
        self._next = self.clock() + max(EVERY, (self.clock() - began) / self.share)

    def __getattr__(self, name: str) -> Any:
        """The library's other events, of which nothing is asked; its own class would have to be imported for them."""
        if name.startswith("on_"):
            return lambda *given, **options: None
        raise AttributeError(name)


def _calling_trainer() -> Any:
    """The trainer that called the callback: the library passes everything but itself."""
    from transformers import Trainer

    frame = sys._getframe()
    while frame is not None:
        if isinstance(caller := frame.f_locals.get("self"), Trainer):
            return caller
        frame = frame.f_back  # type: ignore[assignment]
    return None
