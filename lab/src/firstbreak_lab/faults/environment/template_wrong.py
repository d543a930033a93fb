"""Training prompts lack a part of the template that the warm-up and the evaluation used: a start token, a role.

Chain: the first training reward is far below the first evaluation -> the policy relearns its task in the new template
-> the divergence from the reference rises early, and the evaluation, in the old template, falls or stays constant.
Healthy look-alike: a weak base model. Then the evaluation is also low from the start.
Source: THUDM/slime#1418; huggingface/trl#4970.
"""

from dataclasses import replace
from typing import Any

from firstbreak_lab import language
from firstbreak_lab.language.tasks import TaskProblem

CAUSE = "prompt-template-wrong"
ACCEPTED = {
    "rollout": "the prompt is rendered by the code that generates",
    "evaluation": "training and evaluation differ, and either may be called the wrong one",
}
ONSET = 0.0
SEVERITIES = {"language/grpo-sort": (1, 3, 5), "language/grpo-tag": (1, 3, 5)}  #: characters that are missing


def inject(settings: Any, severity: float, onset: int) -> None:
    """Remove the first `severity` characters of every training prompt."""

    def patch(trainer: Any) -> None:
        right = trainer.workers.draw

        def cut(rng: Any, n: int) -> list[TaskProblem]:
            return [replace(problem, prompt=problem.prompt[int(severity) :]) for problem in right(rng, n)]

        trainer.workers.draw = language.from_step(trainer, onset, right, cut)

    settings.patches.append(patch)
