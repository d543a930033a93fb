"""The drawing of a break as a picture file, for a paper or a message. matplotlib draws it."""

from pathlib import Path

from firstbreak.model import Diagnosis
from firstbreak.reports import content
from firstbreak.reports.text import short_number
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
    marks = {kind: (name, *place.partition(" (")[::2]) for kind, name, place in content.marks(dx)}
    at = f", {marks['break'][1]}" if "break" in marks else ""
    axes.set_title(f"{content.ACTION_WORD[content.mark(dx.verdict)]}: {content.headline(dx)}{at}", loc="left")
    axes.set_xlabel(f"{axis_word(drawn[0].axis)}s" if drawn else "")
    axes.xaxis.set_major_formatter(lambda step, _: short_number(step))
    for i, series in enumerate(drawn):
        side = axes.twinx() if i else axes
        side.plot(series.steps, series.values, color=f"C{i}", linewidth=1.2)
        side.set_ylabel(series.name, color=f"C{i}", parse_math=False)  # a name from the log is no formula
    if first is not None and "break" in marks:
        if first.interval is not None:
            axes.axvspan(
                *first.interval, color="C3", alpha=0.15, label=marks["break"][2].rstrip(")") or "where it lies"
            )
        if first.step is not None:
            axes.axvline(first.step, color="C3", label=marks["break"][0])
    if best is not None and "best" in marks:
        axes.axvline(best.back_to, color="C2", linestyle="--", label=", ".join(marks["best"][:2]))
    if axes.get_legend_handles_labels()[1]:
        figure.legend(loc="outside lower left", ncols=3, fontsize="small", frameon=False)
    figure.savefig(path, dpi=150)
