"""A rollout worker is slow: a throttled machine, a tool that waits for its timeout.

Chain: the rollout takes longer -> the step takes longer, the trainer waits -> throughput falls; learning from a batch
does not change.
Healthy look-alike: longer completions, which need more time.
Source: the debugging guide's system section; AReaL's notes on throughput.
"""

import time
from typing import Any

from firstbreak_lab import language

CAUSE = "phases-out-of-balance"
ACCEPTED = {"rollout": "the phase that takes longer is the rollout"}
ONSET = 0.4
SEVERITIES = {
    "language/grpo-sort": (0.05, 0.2, 0.5),
    "language/async-sort": (0.05, 0.2, 0.5),
}  #: seconds that a batch waits for its slowest worker


def inject(settings: Any, severity: float, onset: int) -> None:
    """Delay every batch by `severity` seconds."""

    def patch(trainer: Any) -> None:
        prompt = trainer.workers.prepare_batch

        def late(should_accept_fn: Any) -> Any:
            time.sleep(severity)
            return prompt(should_accept_fn)

        trainer.workers.prepare_batch = language.from_step(trainer, onset, prompt, late)

    settings.patches.append(patch)
