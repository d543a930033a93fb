"""`firstbreak.recorder()`: one line in a trainer's script."""

from __future__ import annotations

from pathlib import Path

from firstbreak.live.recorder.measuring import SHARE
from firstbreak.live.recorder.trl.callback import Recorder


def recorder(folder: str | Path | None = None, share: float = SHARE, *, rescore: bool = True) -> Recorder:
    """What measures identities of a training run: `callbacks=[firstbreak.recorder()]` in TRL, `record.batch(...)` in a loop.

    `folder`: where the numbers are written (default: the trainer's `output_dir`; in a loop, nothing is written without one).
    `share`: of the run's time that the measurements may take. `rescore=False` leaves the reward functions alone (TRL).
    """
    return Recorder(folder, share, rescore=rescore)
