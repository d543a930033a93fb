"""Another job takes the processor from time to time: an uploader, a merge of checkpoints, a backup.

Chain: at regular intervals all phases of a step take longer -> throughput falls by bursts; learning is not affected.
Healthy look-alike: evaluation or saving, which lengthen their own phase only.
Source: the debugging guide's system section (background processes).
"""

from __future__ import annotations

import threading
from typing import Any

from firstbreak.lab import language

CAUSE = "memory-or-interference"
ONSET = 0.3
SEVERITIES = {"language/grpo-sort": (1, 2, 4), "language/grpo-add": (1, 2, 4)}  #: busy threads, for 8 of every 16 steps


def inject(settings: Any, severity: float, onset: int) -> None:
    """Let `severity` threads compete for the interpreter during half of the time."""

    def operate(trainer: Any) -> None:
        quiet = trainer.workers.prepare_batch
        busy = threading.Event()

        def work() -> None:
            while trainer.step < settings.steps:
                sum(range(20_000)) if busy.is_set() else busy.wait(0.1)

        def disturbed(should_accept_fn: Any) -> Any:
            if trainer.step == onset:
                for _ in range(int(severity)):
                    threading.Thread(target=work, daemon=True).start()
            (busy.set if (trainer.step - onset) % 16 < 8 else busy.clear)()
            return quiet(should_accept_fn)

        trainer.workers.prepare_batch = language.from_step(trainer, onset, quiet, disturbed)

    settings.surgery.append(operate)
