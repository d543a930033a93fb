"""How good the final policy of a run is."""

from dataclasses import dataclass


@dataclass(frozen=True)
class FinalScores:
    """The true and the reported score of the final policy, in the unit of the task (accuracy or return)."""

    true: float  #: measured outside of the run, so that no fault can change it
    reported: float  #: the last evaluation of the run itself
