"""The evaluation is too small to compare checkpoints.

Chain: the score jumps by several standard errors of a large evaluation between neighbouring checkpoints -> the best
checkpoint is chosen by chance.
Healthy look-alike: a real regression, which is also visible in the training reward.
Source: Henderson et al., arXiv:1709.06560; Agarwal et al., arXiv:2108.13264.
"""

import random
from typing import Any

CAUSE = "evaluation-too-small"
ONSET = 0.0
SEVERITIES = {"language/grpo-sort": (32, 8, 4), "language/grpo-add": (32, 8, 4)}  #: problems of an evaluation


def inject(settings: Any, severity: float, onset: int) -> None:
    """Evaluate on `severity` problems, drawn again for each evaluation."""

    def patch(trainer: Any) -> None:
        rng = random.Random(settings.seed)
        pool = settings.task.held_out(2048)
        whole = trainer._evaluate

        def small() -> None:
            trainer.eval_problems = rng.sample(pool, int(severity))
            whole()

        trainer._evaluate = small

    settings.patches.append(patch)
