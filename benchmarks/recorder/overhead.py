"""What the recorder costs, on the CPU: pairs of one run with and without it, update by update.

Both runs of a pair do the same work (their weights are the same bit for bit), one after the other, in turns. Measured after the
first 20 updates; the start is reported apart. The model is tiny, so that an update takes a fraction of a second: on a larger one,
the same arithmetic is a smaller part.
"""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

import firstbreak
from benchmarks.recorder.script import Script, run
from benchmarks.size import sized

UPDATES, START = sized((60, 20), (6, 2))


class Clock:
    """A callback that notes the processor time at the end of each update: waiting for other programs does not count."""

    def __init__(self) -> None:
        self.ended: list[float] = []

    def on_step_end(self, *given: Any, **options: Any) -> None:
        """One more update."""
        self.ended.append(time.process_time())

    def __getattr__(self, name: str) -> Any:
        """The library's other events."""
        if name.startswith("on_"):
            return lambda *given, **options: None
        raise AttributeError(name)


def trained(*, recorded: bool) -> tuple[np.ndarray, bytes, float]:
    """Seconds of each update after the start, the last weights, and the seconds that the recorder spent at the start."""
    clock, record = Clock(), firstbreak.recorder()
    script = Script(steps=UPDATES, config={"eval_strategy": "no", "log_completions": False})
    with tempfile.TemporaryDirectory() as folder:
        trainer = run(script, Path(folder), [record, clock] if recorded else [clock])
    weights = b"".join(p.detach().numpy().tobytes() for p in trainer.model.parameters())
    return np.diff(clock.ended)[START - 1 :], weights, record.start


def measured(pairs: int = sized(4, 1)) -> dict[str, Any]:
    """The keys of results/recorder.json that say what it costs."""
    shares, each, starts, same = [], [], [], True
    for i in range(pairs):
        order = (True, False) if i % 2 else (False, True)
        made = {recorded: trained(recorded=recorded) for recorded in order}
        (without, weights, _), (with_it, others, start) = made[False], made[True]
        same &= weights == others
        shares.append(float(with_it.sum() / without.sum()) - 1)
        each.append((with_it - without) / np.median(without))
        starts.append(start)
    return {
        "overhead_fraction": median(shares),
        "overhead_fractions": shares,
        "overhead_update_median": float(np.median(np.concatenate(each))),
        "overhead_update_p95": float(np.quantile(np.concatenate(each), 0.95)),
        "start_s": median(starts),
        "device": "cpu",
        "bit_identical": same,
    }
