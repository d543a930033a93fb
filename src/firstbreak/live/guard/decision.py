"""The actions of a guard, its policies, and its decisions with their findings."""

import enum
from pathlib import Path

from firstbreak.model import Action, Checkpoint, Diagnosis, Finding
from firstbreak.values import dataclass
from firstbreak.words import number


class Act(enum.StrEnum):
    """The actions of a guard, from the mildest to the most severe."""

    CONTINUE = "continue"  #: with a diagnosis: an alarm, on which the guard acts only if it lasts, or a warning
    SKIP_UPDATE = "skip-update"  #: do not apply the current update; in PPO, run no more epochs on this batch
    REDUCE = "reduce"  #: continue with half the learning rate
    STOP = "stop"
    ROLLBACK = "rollback"  #: stop, and continue from an earlier checkpoint

    @property
    def rank(self) -> int:
        """0 for the mildest action."""
        return list(Act).index(self)


class GuardPolicy(enum.StrEnum):
    """What a guard may do by itself. Other decisions are only reported."""

    OBSERVE = "observe"
    SKIP_UPDATE = "skip-update"  #: skip single updates, and reduce the learning rate
    STOP = "stop"  #: also end the run

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"there is no policy {value!r}; use one of: {', '.join(cls)}")


#: policy -> what a guard may do
PERMITTED = {
    GuardPolicy.OBSERVE: frozenset({Act.CONTINUE}),
    GuardPolicy.SKIP_UPDATE: frozenset({Act.CONTINUE, Act.SKIP_UPDATE, Act.REDUCE}),
    GuardPolicy.STOP: frozenset(Act),
}
REDUCTION = 0.5  #: factor of the learning rate for one REDUCE


@dataclass(frozen=True, kw_only=True, eq=False)
class GuardDecision:
    """What the loop must do now (`act`), what the finding requires (`advice`), and the finding."""

    act: Act = Act.CONTINUE
    advice: Act = Act.CONTINUE  #: differs from `act` if the policy does not permit it
    step: float | None = None
    by: str = ""  #: name of the rule or detector
    finding: Finding | None = None
    diagnosis: Diagnosis | None = None  #: if the decision comes from the detectors
    rollback: Checkpoint | None = None  #: the checkpoint to continue from
    synchronous: str = ""  #: settings for synchronous training; the first thing to try if the data may be stale
    bundle: Path | None = None  #: the folder of the evidence, if a bundle was written

    @property
    def stop(self) -> bool:
        """Whether the loop must end."""
        return self.act in (Act.STOP, Act.ROLLBACK)

    @property
    def skip(self) -> bool:
        """Whether the current update must be skipped."""
        return self.act is Act.SKIP_UPDATE or self.stop

    @property
    def _word(self) -> str:
        if self.advice is not Act.CONTINUE or self.finding is None:
            return self.advice.value
        if self.diagnosis is None:
            return "alarm, the detectors look next"
        return "stop if it lasts" if self.diagnosis.verdict.action in (Action.STOP, Action.ROLLBACK) else "watch"

    def __str__(self) -> str:
        where = "" if self.step is None else f"step {number(self.step)}: "
        message = "" if self.finding is None else f" ({self.by}): {self.finding.message}"
        permitted = "" if self.act is self.advice else ", not done under this policy"
        back = f"; continue from {self.rollback.path}" if self.rollback is not None else ""
        kept = f"; evidence in {self.bundle}" if self.bundle is not None else ""
        first = f"; try synchronous training first:\n{self.synchronous}" if self.synchronous else ""
        return f"{where}{self._word}{permitted}{message}{back}{kept}{first}"


GO_ON = GuardDecision()
