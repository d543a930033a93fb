"""What a trainer family is. A module of families/ is one."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, DrawnLabel, Fault, Trained


@dataclass(frozen=True, kw_only=True)
class TrainerFault(Fault):
    """A fault of one family."""

    needs: str = ""  #: a setting without which there is nothing to break: the fault is not drawn where it is off


@dataclass(frozen=True, kw_only=True)
class PopulationLabel(DrawnLabel):
    """What is true of a run of the population. `base` is `<family>/<task>`."""

    family: str
    settings: Mapping[str, Any]  #: as they were drawn, without the fault
    start: float  #: true score of the first policy
    best: float  #: true score of the best policy of the task


class TrainerFamily(Protocol):
    """A real trainer, the tasks that it is trained on, and its faults.

    `with broken.severity == 0`, `train` writes the same numbers as without a fault, but for those of the clock.
    """

    NAME: str  #: as in `FAMILIES` of draw.py, for example "sb3-ppo"
    FAULTS: Mapping[str, TrainerFault]  #: by name
    CANNOT: Mapping[Link, str]  #: links that cannot break in this family -> why, in one line

    def draw(self, rng: np.random.Generator, rows: int) -> dict[str, Any]:
        """Settings of a healthy run that logs about `rows` rows, as plain JSON.

        `task` names the task. `evaluation` is true where the run evaluates: the faults of the link `evaluation` need it.
        """
        ...

    def train(self, settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
        """Train with the real trainer, and write into the folder `out` what its user would have.

        A fault acts in the mechanism, at a line that asks `broken("<fault>")`; `broken.progress` is set as the run goes on.
        `seconds` of the result is CPU time, and the time that a fault has slept.
        """
        ...
