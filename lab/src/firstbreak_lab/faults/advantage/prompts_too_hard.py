"""The problems are too hard for the policy: longer than all problems of the warm-up.

Chain: all completions of nearly all prompts are wrong -> groups are equal at 0 -> no gradient except the KL penalty ->
reward stays at its minimum, and accuracy on easier problems may fall.
Healthy look-alike: a slow start, after which the reward rises; a solved task, where all groups are equal at 1.
Source: DAPO, arXiv:2503.14476; AReaL's guide (dynamic filtering).
"""

from typing import Any

from firstbreak_lab import language
from firstbreak_lab.language import tasks
from firstbreak_lab.language.tasks import Task

CAUSE = "prompts-too-hard"
ACCEPTED = {"environment": "the problems were chosen wrong", "reward": "a reward that is nearly always 0 tells nothing"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (6, 7, 9),
    "language/grpo-reverse": (6, 7, 9),
}  #: digits of a training problem; 5 in the evaluation


def inject(settings: Any, severity: float, onset: int) -> None:
    """Draw training problems of `severity` digits."""
    harder: Task = getattr(tasks, settings.task.name)(int(severity))

    def patch(trainer: Any) -> None:
        trainer.workers.draw = language.from_step(trainer, onset, trainer.workers.draw, harder.draw)

    settings.patches.append(patch)
