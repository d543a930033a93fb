"""How a diagnosis shows itself: in a notebook, with rich, and as a drawing."""

from typing import Any

from firstbreak.model import Diagnosis, Run
from firstbreak.reports import html as pages


def html(shown: Diagnosis | Run) -> str:
    """The report, or what a run recorded, as a part of a page."""
    return pages.of_run(shown) if isinstance(shown, Run) else pages.fragment(shown)


def rich(diagnosis: Diagnosis) -> Any:
    """One screen, for `rich.print`."""
    from firstbreak.reports import screen  # imports rich

    return screen.renderable(diagnosis)


def plot(diagnosis: Diagnosis) -> pages.Plot:
    """The curves around the break. Raises ValueError where nothing can be drawn."""
    return pages.plot(diagnosis)
