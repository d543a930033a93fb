"""Failures of the infrastructure count as failures of the agent.

Chain: the reward drops at one step although no metric of the policy has changed -> success depends on chance, more in
long episodes -> advantages are noisy, short episodes are preferred -> accuracy falls.
Healthy look-alike: a policy that has become worse. Then KL or entropy changed first.
Source: rllm-org/rllm#710; PrimeIntellect-ai/prime-environments#339.
"""

import random
from typing import Any

from firstbreak_lab import language
from firstbreak_lab.agent.registers import calls

CAUSE = "outages-graded-as-failures"
ACCEPTED = {
    "rollout": "the tools fail, and have to be repaired first",
    "systems": "an outage is a fault of the infrastructure",
}
ONSET = 0.3
SEVERITIES = {"agent/grpo-registers": (0.1, 0.25, 0.4)}  #: chance of an outage at each call


def inject(settings: Any, severity: float, onset: int) -> None:
    """Give no reward to an episode with an outage in one of its calls."""
    rng = random.Random(settings.seed)

    def patch(trainer: Any) -> None:
        honest = trainer.workers.score

        def punished(problems: list[Any], texts: list[str]) -> dict[str, list[float]]:
            scores: dict[str, list[float]] = honest(problems, texts)
            spared = [all(rng.random() >= severity for _ in calls(text)) for text in texts]
            return {name: [s * ok for s, ok in zip(values, spared, strict=True)] for name, values in scores.items()}

        trainer.workers.score = language.from_step(trainer, onset, honest, punished)

    settings.patches.append(patch)
