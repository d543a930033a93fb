"""Training prompts are written in another template than the warm-up and the evaluation used.

Chain: the first training reward is far below the first evaluation -> the policy relearns the format of the prompt ->
the divergence from the reference rises early, and the evaluation, in the old template, falls.
Healthy look-alike: a weak base model: then the evaluation is low from the start as well.
Source: THUDM/slime#1418; huggingface/trl#4970.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from firstbreak.lab import language
from firstbreak.lab.language.tasks import Problem

CAUSE = "prompt-template-wrong"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (1, 3, 5),
    "language/grpo-tag": (1, 3, 5),
}  #: characters of the template that differ


def inject(settings: Any, severity: float, onset: int) -> None:
    """Replace the last `severity` characters of the instruction before the data by question marks."""

    def operate(trainer: Any) -> None:
        right = trainer.workers.draw

        def wrong(rng: Any, n: int) -> list[Problem]:
            problems = []
            for problem in right(rng, n):
                instruction, data = problem.prompt[:5], problem.prompt[5:]
                kept = instruction[: len(instruction) - int(severity)]
                problems.append(replace(problem, prompt=kept.ljust(len(instruction), "?") + data))
            return problems

        trainer.workers.draw = language.from_step(trainer, onset, right, wrong)

    settings.surgery.append(operate)
