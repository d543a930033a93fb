"""The run is killed at half time and resumed from a checkpoint ten steps earlier: the log contains ten steps twice."""

import copy
from typing import Any

BASES = ("language/grpo-sort", "language/grpo-add")


def vary(settings: Any) -> None:
    """Save a checkpoint ten steps before the middle, and resume from it once, in the middle."""
    save, die = settings.steps // 2 - 10, settings.steps // 2

    def patch(trainer: Any) -> None:
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

    settings.patches.append(patch)
