"""The verifier makes random errors: flaky tests, an unreliable judge, wrong labels.

Chain: right and wrong completions of a group are confused -> advantages are noisy -> the reward has a low maximum ->
accuracy stops rising or falls; entropy rises.
Healthy look-alike: a small batch or a hard task. The curve is noisy, but rises.
Source: arXiv:2507.10532; rllm-org/rllm#710.
"""

import random
from typing import Any

from firstbreak_lab import language, trl

CAUSE = "verdicts-noisy"
ACCEPTED = {"environment": "wrong labels are a fault of the data"}
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
        case language.LanguageSettings():

            def patch(trainer: Any) -> None:
                honest = trainer.workers.score

                def erring(problems: list[Any], completions: list[str]) -> dict[str, list[float]]:
                    scores: dict[str, list[float]] = honest(problems, completions)
                    return scores | {"accuracy": list(map(noisy, scores["accuracy"]))}

                trainer.workers.score = language.from_step(trainer, onset, honest, erring)

            settings.patches.append(patch)
        case trl.TrlSettings():
            honest = settings.rewards[0]

            def accuracy(**batch: Any) -> list[float]:
                return [noisy(verdict) for verdict in honest(**batch)]

            settings.rewards[0] = accuracy
