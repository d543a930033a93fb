"""Training uses only a small part of the problems: no shuffling, a filter that is too strict, the first rows of a data set.

Chain: training reward rises fast to its maximum -> groups become equal -> the held-out score stalls or falls.
Healthy look-alike: an easy task, where the held-out score rises as well.
Source: the debugging guide's data checks; volcengine/verl issues on data order.
"""

import random
from typing import Any

from firstbreak_lab import language
from firstbreak_lab.language.tasks import TaskProblem

CAUSE = "prompts-too-narrow"
ACCEPTED = {"advantage": "groups without a spread are what ends the learning"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (4, 3, 2),
    "language/grpo-reverse": (4, 3, 2),
}  #: different digits that occur in the training problems


def inject(settings: Any, severity: float, onset: int) -> None:
    """Draw only problems that are written with the first `severity` digits."""
    allowed = set("0123456789"[: int(severity)])

    def patch(trainer: Any) -> None:
        drawn = trainer.workers.draw
        make = settings.task.make

        def narrow(rng: random.Random, n: int) -> list[TaskProblem]:
            problems: list[TaskProblem] = []
            while len(problems) < n:
                problem = make(rng)
                if set(problem.answer) <= allowed:
                    problems.append(problem)
            return problems

        trainer.workers.draw = language.from_step(trainer, onset, drawn, narrow)

    settings.patches.append(patch)
