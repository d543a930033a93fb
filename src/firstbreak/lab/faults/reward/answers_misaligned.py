"""Completions are graded against the answer of another prompt: a shuffled column, an off-by-one in a data loader.

Chain: even right completions earn nothing -> reward near the chance level while the evaluation starts high -> the
skill that was there erodes.
Healthy look-alike: a task that is too hard: reward is low, but what is rewarded is right.
Source: NVIDIA-NeMo/RL#4013 (identity of groups); Humbatova et al., arXiv:2101.00135.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

from firstbreak.lab import language
from firstbreak.lab.language.tasks import Problem

CAUSE = "answers-misaligned"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.5, 0.8, 1.0),
    "language/grpo-reverse": (0.5, 0.8, 1.0),
}  #: share of prompts that get another prompt's answer


def inject(settings: Any, severity: float, onset: int) -> None:
    """Give a share `severity` of the prompts the answer of the prompt drawn before them."""
    rng = random.Random(settings.seed)

    def operate(trainer: Any) -> None:
        aligned = trainer.workers.draw

        def shifted(drawing: Any, n: int) -> list[Problem]:
            problems: list[Problem] = aligned(drawing, n)
            return [
                replace(p, answer=problems[i - 1].answer) if rng.random() < severity else p
                for i, p in enumerate(problems)
            ]

        trainer.workers.draw = language.from_step(trainer, onset, aligned, shifted)

    settings.surgery.append(operate)
