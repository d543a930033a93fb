"""Completions are graded against the answer of another prompt: a shuffled column, an off-by-one in a data loader.

Chain: even right completions get no reward -> reward near the chance level while the evaluation starts high -> accuracy
falls.
Healthy look-alike: a task that is too hard. Reward is low, but the rewarded completions are right.
Source: NVIDIA-NeMo/RL#4013 (identity of groups); Humbatova et al., arXiv:2101.00135.
"""

import random
from dataclasses import replace
from typing import Any

from firstbreak_lab import language
from firstbreak_lab.language.tasks import TaskProblem

CAUSE = "answers-misaligned"
ACCEPTED = {"environment": "a column of the data set is shifted"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.5, 0.8, 1.0),
    "language/grpo-reverse": (0.5, 0.8, 1.0),
}  #: share of prompts that get another prompt's answer


def inject(settings: Any, severity: float, onset: int) -> None:
    """Give a share `severity` of the prompts the answer of the prompt drawn before them."""
    rng = random.Random(settings.seed)

    def patch(trainer: Any) -> None:
        aligned = trainer.workers.draw

        def shifted(drawing: Any, n: int) -> list[TaskProblem]:
            problems: list[TaskProblem] = aligned(drawing, n)
            return [
                replace(p, answer=problems[i - 1].answer) if rng.random() < severity else p
                for i, p in enumerate(problems)
            ]

        trainer.workers.draw = language.from_step(trainer, onset, aligned, shifted)

    settings.patches.append(patch)
