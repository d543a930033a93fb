"""The verifier errs at random: flaky tests, an unreliable judge, wrong labels.

Chain: right and wrong completions of a group are confused -> advantages carry noise -> the reward hits a ceiling ->
accuracy stalls, or the skill that was there erodes; entropy rises.
Healthy look-alike: a small batch or a hard task: noisy, but the trend is up.
Source: arXiv:2507.10532; rllm-org/rllm#710.
"""

from __future__ import annotations

import random
from typing import Any

from firstbreak.lab import language, trl

CAUSE = "verdicts-noisy"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.2, 0.35, 0.45),
    "language/ppo-sort": (0.35, 0.45),
    "trl/grpo-sort": (0.35, 0.45),
}  #: share of verdicts that are inverted


def inject(settings: Any, severity: float, onset: int) -> None:
    """Invert a random share `severity` of the verdicts."""
    rng = random.Random(settings.seed)

    def noisy(verdict: float) -> float:
        return 1 - verdict if rng.random() < severity else verdict

    match settings:
        case language.Settings():

            def operate(trainer: Any) -> None:
                honest = trainer.workers.score

                def erring(problems: list[Any], completions: list[str]) -> dict[str, list[float]]:
                    scores: dict[str, list[float]] = honest(problems, completions)
                    return scores | {"accuracy": list(map(noisy, scores["accuracy"]))}

                trainer.workers.score = language.from_step(trainer, onset, honest, erring)

            settings.surgery.append(operate)
        case trl.Settings():
            honest = settings.rewards[0]

            def accuracy(**batch: Any) -> list[float]:
                return [noisy(verdict) for verdict in honest(**batch)]

            settings.rewards[0] = accuracy
