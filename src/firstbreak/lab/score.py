"""What a run was worth."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """Two measures of the final policy, in the unit of the task (accuracy or return)."""

    true: float  #: measured apart from everything that the run logs, where no fault reaches
    reported: float  #: the last evaluation of the run itself
