"""The evaluation runs on old weights: a worker that no longer receives them, a cached checkpoint.

Chain: training reward continues to rise -> the evaluation stays constant, or repeats the past with a delay.
Healthy look-alike: reward hacking, where the evaluation is also flat, but the samples are wrong.
Source: huggingface/trl#5312.
"""

import copy
from typing import Any

from firstbreak_lab import language

CAUSE = "evaluation-of-stale-weights"
ACCEPTED = {"freshness": "the weights no longer reach a worker"}
ONSET = 0.15
SEVERITIES = {
    "language/grpo-sort": (20, 40, 1000),
    "language/grpo-add": (20, 40, 1000),
    "language/grpo-reverse": (20, 1000),
}  #: steps between two updates of the evaluated weights


def inject(settings: Any, severity: float, onset: int) -> None:
    """Evaluate the policy of the last step whose number is `onset` plus a multiple of `severity`."""

    def patch(trainer: Any) -> None:
        held = {"step": 0, "policy": trainer.policy}

        def stale() -> Any:
            due = onset + (trainer.step - onset) // int(severity) * int(severity)
            if held["step"] != due:
                held.update(step=due, policy=copy.deepcopy(trainer.policy))
            return held["policy"]

        trainer.evaluated_policy = language.from_step(trainer, onset, trainer.evaluated_policy, stale)

    settings.patches.append(patch)
