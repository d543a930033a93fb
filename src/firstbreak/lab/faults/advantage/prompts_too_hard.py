"""The problems are beyond the policy: longer than anything it has been taught.

Chain: all completions of nearly all prompts are wrong -> groups are equal at 0 -> no gradient but the penalty's ->
reward stays at its floor, and the skill for easier problems may erode.
Healthy look-alike: a slow start that lifts; a solved task, whose groups are equal at 1.
Source: DAPO, arXiv:2503.14476; AReaL's guide (dynamic filtering).
"""

from __future__ import annotations

from typing import Any

from firstbreak.lab import language
from firstbreak.lab.language import tasks
from firstbreak.lab.language.tasks import Task

CAUSE = "prompts-too-hard"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (6, 7, 9),
    "language/grpo-reverse": (6, 7, 9),
}  #: digits of a training problem; 5 in the evaluation


def inject(settings: Any, severity: float, onset: int) -> None:
    """Draw training problems of `severity` digits."""
    harder: Task = getattr(tasks, settings.task.name)(int(severity))

    def operate(trainer: Any) -> None:
        trainer.workers.draw = language.from_step(trainer, onset, trainer.workers.draw, harder.draw)

    settings.surgery.append(operate)
