"""The problems of the evaluation are part of the training data.

Chain: the score follows the training reward without a gap -> on new problems the score would be lower.
Healthy look-alike: good generalisation. Then the score on new problems is the same.
Source: arXiv:2507.10532; arXiv:2509.21882.
"""

import random
from typing import Any

from firstbreak_lab import language
from firstbreak_lab.language.tasks import TaskProblem

CAUSE = "evaluation-contaminated"
ACCEPTED = {"environment": "the split of the data is wrong"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.3, 1.0),
    "language/grpo-add": (0.3, 1.0),
}  #: share of the training prompts that come from the evaluation


def inject(settings: Any, severity: float, onset: int) -> None:
    """Replace a random share `severity` of the training problems by problems of the evaluation."""

    def patch(trainer: Any) -> None:
        clean = trainer.workers.draw

        def leaked(rng: random.Random, n: int) -> list[TaskProblem]:
            leak = trainer.eval_problems[:32]
            return [rng.choice(leak) if rng.random() < severity else problem for problem in clean(rng, n)]

        trainer.workers.draw = language.from_step(trainer, onset, clean, leaked)

    settings.eval_problems = 32
    settings.patches.append(patch)
