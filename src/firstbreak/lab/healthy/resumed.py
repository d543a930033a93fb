"""Killed at half of the run and resumed from a checkpoint ten steps back: ten steps stand in the log twice."""

from __future__ import annotations

import copy
from typing import Any

BASES = ("language/grpo-sort", "language/grpo-add")


def vary(settings: Any) -> None:
    """Save everything ten steps before the middle; go back to it in the middle, once."""
    save, die = settings.steps // 2 - 10, settings.steps // 2

    def operate(trainer: Any) -> None:
        step = trainer.train_step
        saved: dict[str, Any] = {}

        def resumable() -> None:
            if trainer.step == save and not saved:
                saved.update(policy=trainer.policy.state_dict(), optimizer=trainer.optimizer.state_dict())
                saved.update(copy.deepcopy(saved))
            if trainer.step == die and "used" not in saved:
                saved["used"] = True
                trainer.policy.load_state_dict(saved["policy"])
                trainer.optimizer.load_state_dict(saved["optimizer"])
                trainer.version = save - 1
                trainer.sync_weights(trainer.policy, trainer.version)
                for _ in range(save, die):
                    step()
            step()

        trainer.train_step = resumable

    settings.surgery.append(operate)
