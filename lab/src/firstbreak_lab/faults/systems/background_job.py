"""Another job uses the processor from time to time: an upload, a merge of checkpoints, a backup.

Chain: at regular intervals all phases of a step take longer -> throughput falls at these times; learning is not affected.
Healthy look-alike: evaluation or saving, which make only their own phase longer.
Source: the debugging guide's system section (background processes).
"""

import os
import subprocess
import sys
from typing import Any

from firstbreak_lab import language

CAUSE = "interference"
ONSET = 0.3
SEVERITIES = {
    "language/grpo-sort": (1, 2, 4),
    "language/grpo-add": (1, 2, 4),
}  #: busy processes, for 8 of every 16 steps

JOB = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(range(100_000))"  #: ends with the run


def inject(settings: Any, severity: float, onset: int) -> None:
    """Let `severity` processes compete for the trainer's core during half of the time."""
    jobs: list[subprocess.Popen[bytes]] = []

    def patch(trainer: Any) -> None:
        quiet = trainer.workers.prepare_batch

        def disturbed(should_accept_fn: Any) -> Any:
            phase = (trainer.step - onset) % 16
            if phase == 0:
                _stay_on_one_core()  # otherwise the jobs use an idle core and do not slow down the trainer
                jobs.extend(subprocess.Popen([sys.executable, "-c", JOB]) for _ in range(int(severity)))
            elif phase == 8:
                _end(jobs)
            return quiet(should_accept_fn)

        trainer.workers.prepare_batch = language.from_step(trainer, onset, quiet, disturbed)

    settings.patches.append(patch)


def _stay_on_one_core() -> None:
    if hasattr(os, "sched_setaffinity"):  # Linux; children inherit it
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def _end(jobs: list[subprocess.Popen[bytes]]) -> None:
    while jobs:
        job = jobs.pop()
        job.kill()
        job.wait()
