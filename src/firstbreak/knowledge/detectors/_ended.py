"""The finding that an error ended the run, at the link that the error speaks of."""

import re

from firstbreak.engine import facts
from firstbreak.engine.checks import critical, seen_as
from firstbreak.model import Event, Evidence, Finding, Run
from firstbreak.patterns import pattern

NOT_FINITE = pattern(
    r"\bnan\b|\binf(?:inity|inite)?\b|not finite|non-?finite|satisfy the constraint|found invalid", re.IGNORECASE
)


def by_nan(run: Run) -> bool:
    """Whether the error that ended the run is one of numbers that are not finite."""
    return run.error is not None and NOT_FINITE.search(run.error.text) is not None


def end_of(event: Event, run: Run) -> Finding:
    """The line that the run ended with, and after which step."""
    step = event.step if event.step is not None else run.last_step
    where = facts.tell("{where}", where=f" after step {step:g}" if step is not None else "")
    return critical(
        '{source} ends{where} with "{line}"; read the lines above this error in {source}',
        seen_as(onset=step, drawn=(Evidence(text=f"{event.source}: {event.text}", series=None),)),
        source=event.source,
        where=where,
        line=event.text,
    )
