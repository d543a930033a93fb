"""The learning rate is multiplied during the run: a schedule in the wrong unit, a restart with another config.

Chain: steps grow -> KL and clip fraction jump -> entropy falls -> the evaluation falls -> training reward falls.
Healthy look-alike: an easy task, where ten times the rate is better. KL and clip fraction jump, and reward rises.
Source: "The 37 Implementation Details of PPO" (2022); OpenAI Spinning Up, PPO.
"""

from typing import Any

from firstbreak_lab import classic, language, trl

CAUSE = "step-size-too-large"
ONSET = 0.45
SEVERITIES = {
    "classic/ppo-cartpole": (10.0, 30.0, 100.0, 300.0),
    "classic/dqn-cartpole": (10.0, 100.0),
    "language/grpo-sort": (3.0, 10.0, 30.0),
    "language/ppo-sort": (3.0, 10.0, 30.0),
    "agent/grpo-registers": (3.0, 10.0),
    "trl/grpo-sort": (10.0, 30.0),
}  #: the rate is multiplied by this


def inject(settings: Any, severity: float, onset: int) -> None:
    """Multiply the learning rate by `severity`."""
    match settings:
        case classic.ClassicSettings():
            planned = settings.hyperparameters["learning_rate"]
            settings.recorded["learning_rate"] = planned
            rate, last_healthy = classic.schedule(planned), 1 - onset / settings.steps
            settings.hyperparameters["learning_rate"] = lambda left: (
                rate(left) * (severity if left <= last_healthy else 1.0)
            )
        case language.LanguageSettings():
            settings.change(onset, lr=settings.lr * severity)
        case trl.TrlSettings():

            def patch(trainer: Any) -> None:
                from transformers import TrainerCallback

                class Jump(TrainerCallback):  # type: ignore[misc]
                    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                        if state.global_step + 1 == onset:
                            scheduler = trainer.lr_scheduler
                            scheduler.base_lrs = [severity * rate for rate in scheduler.base_lrs]
                            for group in trainer.optimizer.param_groups:
                                group["lr"] *= severity

                trainer.add_callback(Jump())

            settings.patches.append(patch)
