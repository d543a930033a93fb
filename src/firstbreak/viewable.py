"""What shows itself in notebooks and with rich. Which module draws it is for the package's face to say."""

from collections.abc import Callable
from typing import Any, ClassVar


class Shown:
    """A notebook shows it."""

    views: ClassVar[Callable[[], Any]]  #: imports the module that has `html`, `rich` and `plot`

    def _repr_html_(self) -> str:
        drawn: str = type(self).views().html(self)
        return drawn


class Viewable(Shown):
    """Has the views of a report."""

    def __rich__(self) -> Any:
        return type(self).views().rich(self)

    def plot(self) -> Any:
        """The break, drawn over training reward and score, with the findings in time. A notebook shows it.

        `.save(path)` writes .html, or with matplotlib .png, .svg, .pdf. Raises ValueError where nothing can be drawn.
        """
        return type(self).views().plot(self)
