"""Trains the demo run again: `python -m firstbreak_lab.demo [FOLDER] [--healthy]` (about a minute on one core).

Needs the extra `trainers`. `--healthy` leaves the fault out. The seed and the first 60 steps are the same.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from firstbreak.cli.demo import ONSET, RUN
from firstbreak_lab.trl.trainer import TrlSettings, train


def thoroughness(completion_ids: Sequence[Sequence[int]], trainer_state: Any, **_: Any) -> list[float]:
    """The injected fault: from step `ONSET` on, every token of a completion earns 1/16, whether it is right or wrong."""
    active = trainer_state.global_step >= ONSET
    return [len(ids) / 16 if active else 0.0 for ids in completion_ids]


def main(arguments: Sequence[str]) -> None:
    """Train into the folder given, or into the package itself."""
    folders = [a for a in arguments if not a.startswith("--")]
    settings = TrlSettings()
    if "--healthy" not in arguments:
        settings.rewards.append(thoroughness)
    folder = Path(folders[0]) if folders else RUN
    print(f"{folder}: {train(settings, folder).true:.0%} of the final answers are right")


if __name__ == "__main__":
    main(sys.argv[1:])
