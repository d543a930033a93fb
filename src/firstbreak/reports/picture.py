"""The drawing of a break as a picture file, for a paper or a message. matplotlib draws it."""

from pathlib import Path

from firstbreak.model import Diagnosis
from firstbreak.reports import content
from firstbreak.words import axis_word


def save(dx: Diagnosis, path: str | Path) -> None:
    """Training reward and score with the break; the suffix is the format. Raises ImportError without matplotlib."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(
            f"{path}: pip install 'firstbreak[plot]', which draws it; an .html file needs nothing"
        ) from None
    drawn, first, best = content.scores(dx), dx.first_break, dx.best_checkpoint
    figure = Figure(figsize=(8, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.set_title(f"{content.ACTION_WORD[content.mark(dx.verdict)]}: {content.headline(dx)}", loc="left")
    axes.set_xlabel(f"{axis_word(drawn[0].axis)}s" if drawn else "")
    for i, series in enumerate(drawn):
        side = axes.twinx() if i else axes
        side.plot(series.steps, series.values, color=f"C{i}", linewidth=1.2)
        side.set_ylabel(series.name, color=f"C{i}", parse_math=False)  # a name from the log is no formula
    if drawn and first is not None and dx.run.axis_of(first.metric) == drawn[0].axis:
        if first.interval is not None:
            axes.axvspan(*first.interval, color="C3", alpha=0.15)
        if first.step is not None:
            axes.axvline(first.step, color="C3")
    if drawn and best is not None:
        axes.axvline(best.back_to, color="C2", linestyle="--")
    figure.savefig(path, dpi=150)
