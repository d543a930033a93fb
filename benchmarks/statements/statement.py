"""What a statement is: the guide's words, a generator of a broken run and its healthy look-alike, and what must be said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

#: signal -> its curve; values at every step of the world, NaN where it was not logged at this step
Curves = dict[str, np.ndarray]
Generator = Callable[[World], Curves]

STATEMENTS: dict[str, Statement] = {}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """What the guide's words demand of a diagnosis. All parts that are given must hold."""

    links: frozenset[Link] = frozenset()  #: a warning or worse stands at one of these links
    first: frozenset[Link] = frozenset()  #: the first break, where one is named, is one of these links
    actions: frozenset[Action] = frozenset(Action)  #: the action is one of these
    says: tuple[str, ...] = ()  #: regular expressions, each found in a finding, cause, fix or summary of the report


@dataclass(frozen=True, kw_only=True)
class Statement:
    """One thing that a guide says of a curve."""

    id: str  #: `curves.<what is seen>`
    guide: str  #: which guide, and where in it
    quote: str  #: its own words
    needs: tuple[
        str, ...
    ]  #: signals without which it cannot be seen ("a|b": one of the two): other trainers are left out
    families: frozenset[str]  #: kinds of world that it holds for: "text", "control"
    methods: frozenset[str] = frozenset()  #: "grpo", "dqn", ...; empty for all that log what it needs
    expected: Expected
    broken: Generator
    healthy: Generator | None  #: the look-alike on which nothing may be said; None where the statement is about health
    argument: str = ""  #: where we judge that the guide is wrong, why
    notes: Mapping[str, str] = field(default_factory=dict)


def statement(
    id: str,
    *,
    guide: str,
    quote: str,
    needs: tuple[str, ...],
    families: tuple[str, ...] = ("text",),
    methods: tuple[str, ...] = (),
    links: tuple[Link, ...] = (),
    first: tuple[Link, ...] = (),
    actions: tuple[Action, ...] = tuple(Action),
    says: tuple[str, ...] = (),
    healthy: Generator | None = None,
    argument: str = "",
) -> Callable[[Generator], Generator]:
    """Declare the decorated generator as a statement."""

    def declare(broken: Generator) -> Generator:
        if id in STATEMENTS:
            raise ValueError(f"{id} is declared twice")
        expected = Expected(links=frozenset(links), first=frozenset(first), actions=frozenset(actions), says=says)
        STATEMENTS[id] = Statement(
            id=id,
            guide=guide,
            quote=quote,
            needs=needs,
            families=frozenset(families),
            methods=frozenset(methods),
            expected=expected,
            broken=broken,
            healthy=healthy,
            argument=argument,
        )
        return broken

    return declare
