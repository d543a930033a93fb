"""The campaign against firstbreak: `make attack`. One module is one kind of attack, and returns an `AttackTally`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class AttackTally:
    """What came of one kind of attack."""

    asked: int = 0
    fell: Counter[str] = field(default_factory=Counter)  #: what went wrong -> how often
    first: dict[str, str] = field(default_factory=dict)  #: what went wrong -> how to do it again
    measured: dict[str, float] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, again: str, *problems: str) -> None:
        """Count one attack, and what went wrong in it."""
        self.asked += 1
        for problem in problems:
            self.fell[problem] += 1
            self.first.setdefault(problem, again)

    def plus(self, before: dict[str, Any]) -> AttackTally:
        """This one and an earlier one."""
        return AttackTally(
            self.asked + before["asked"],
            self.fell + Counter(before["fell"]),
            {**self.first, **before["first"]},
            {**before["measured"], **self.measured},
            round(self.seconds + before["seconds"], 1),
        )

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {**vars(self), "fell": dict(self.fell)}
