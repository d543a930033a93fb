"""Memory grows with every step: tensors kept in a list for logging, a cache without a limit.

Chain: memory rises in a straight line -> near the limit the machine swaps or the process is killed; until then
learning is not affected.
Healthy look-alike: memory that rises until a buffer or cache is full.
Source: the debugging guide's system section; AReaL's notes on running out of memory.
"""

from typing import Any

from firstbreak_lab import language

CAUSE = "memory-leak"
ONSET = 0.2
OUTCOME = "memory"
SEVERITIES = {"language/grpo-sort": (1, 4, 12), "language/grpo-reverse": (1, 4, 12)}  #: megabytes a step


def inject(settings: Any, severity: float, onset: int) -> None:
    """Keep `severity` megabytes more at every step."""
    kept: list[bytearray] = []

    def patch(trainer: Any) -> None:
        frugal = trainer.workers.prepare_batch

        def hoarding(should_accept_fn: Any) -> Any:
            kept.append(bytearray(b"\1") * int(severity * 2**20))
            return frugal(should_accept_fn)

        trainer.workers.prepare_batch = language.from_step(trainer, onset, frugal, hoarding)

    settings.patches.append(patch)
