"""What may be done about a run, and what is to be done: data, with the finding behind it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from pathlib import Path

from firstbreak.model import Checkpoint, Diagnosis, Finding
from firstbreak.words import number


class Act(enum.StrEnum):
    """From the mildest to the gravest."""

    CONTINUE = "continue"  #: with a diagnosis: an alarm, on which nothing is done before it has lasted
    SKIP_UPDATE = "skip-update"  #: do not apply the update at hand; in PPO, no further epoch on this batch
    REDUCE = "reduce"  #: go on with half the learning rate
    STOP = "stop"
    ROLLBACK = "rollback"  #: stop, and go on from an earlier checkpoint

    @property
    def rank(self) -> int:
        """0 for the mildest."""
        return list(Act).index(self)


class Policy(enum.StrEnum):
    """What a guard may do by itself. Whatever it may not do, it tells."""

    OBSERVE = "observe"
    SKIP_UPDATE = "skip-update"  #: leave out single updates, and lower the learning rate
    STOP = "stop"  #: and end the run

    @classmethod
    def _missing_(cls, value: object) -> None:
        raise ValueError(f"no policy is called {value!r}; these are: {', '.join(cls)}")

    def permits(self, act: Act) -> bool:
        """Whether a guard with this policy may do it."""
        return act in _PERMITTED[self]


_PERMITTED = {
    Policy.OBSERVE: frozenset({Act.CONTINUE}),
    Policy.SKIP_UPDATE: frozenset({Act.CONTINUE, Act.SKIP_UPDATE, Act.REDUCE}),
    Policy.STOP: frozenset(Act),
}
REDUCTION = 0.5  #: of the learning rate, by one REDUCE


@dataclass(frozen=True, kw_only=True, eq=False)
class Decision:
    """What the loop is to do now (`act`), what the evidence asks for (`advice`), and the finding behind it."""

    act: Act = Act.CONTINUE
    advice: Act = Act.CONTINUE  #: differs from `act` where the policy does not permit it
    step: float | None = None
    by: str = ""  #: the invariant or detector
    finding: Finding | None = None
    diagnosis: Diagnosis | None = None  #: where the detectors have looked
    rollback: Checkpoint | None = None  #: from where to go on
    synchronous: str = ""  #: settings for synchronous training, where stale data are suspected: the first thing to try
    bundle: Path | None = None  #: the evidence, where it was kept

    @property
    def stop(self) -> bool:
        """Whether the loop is to end."""
        return self.act in (Act.STOP, Act.ROLLBACK)

    @property
    def skip(self) -> bool:
        """Whether the update at hand is to be left out."""
        return self.act is Act.SKIP_UPDATE or self.stop

    def __str__(self) -> str:
        where = "" if self.step is None else f"step {number(self.step)}: "
        said = "" if self.finding is None else f" ({self.by}): {self.finding.message}"
        alarm = self.advice is Act.CONTINUE and self.diagnosis is not None
        word = "stop if it lasts" if alarm else self.advice.value
        told = "" if self.act is self.advice else ", not done under this policy"
        back = f"; go on from {self.rollback.path}" if self.rollback is not None else ""
        kept = f"; evidence in {self.bundle}" if self.bundle is not None else ""
        first = f"; try first, synchronous training:\n{self.synchronous}" if self.synchronous else ""
        return f"{where}{word}{told}{said}{back}{kept}{first}"


GO_ON = Decision()
