"""The drawing of a break as a picture file, for a paper or a message. matplotlib draws it."""

from collections.abc import Sequence
from pathlib import Path

from firstbreak.engine.stats.smooth import running_mean
from firstbreak.model import Diagnosis, Series
from firstbreak.reports import content
from firstbreak.reports.curves import FEW
from firstbreak.reports.text import short_number
from firstbreak.words import axis_word

MANY = 200  #: points: more are drawn faint, under their running mean
ALIKE = 3.0  #: ranges that together are not wider than this many of the smaller one share an axis


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
    said = f"{content.ACTION_WORD[content.mark(dx.verdict)]}: {content.headline(dx)}{at}"
    axes.set_title(f"{Path(dx.run.path).name}\n{said}", loc="left", fontsize="medium", parse_math=False)
    axes.set_xlabel(f"{axis_word(drawn[0].axis)}s" if drawn else "")
    axes.xaxis.set_major_formatter(lambda step, _: short_number(step))
    shared = _alike(drawn)
    sides = [axes.twinx() if i and not shared else axes for i in range(len(drawn))]
    for i, (side, series) in enumerate(zip(sides, drawn, strict=True)):
        kept = series.finite
        many = len(kept) > MANY
        width, strength = (0.5, 0.25) if many else (1.2, 1.0)
        joint = "steps-post" if len(kept) <= FEW else "default"
        side.plot(series.steps, series.values, color=f"C{i}", drawstyle=joint, linewidth=width, alpha=strength)
        if many:
            side.plot(kept.steps, running_mean(kept.values, len(kept) // 50 | 1), color=f"C{i}", linewidth=1.6)
        if shared:
            side.plot([], [], color=f"C{i}", label=_harmless(series.name))
        else:
            side.set_ylabel(series.name, color=f"C{i}", parse_math=False)  # a name from the log is no formula
    ends = [side.get_ylim() for side in sides]
    if all(low < 0 < high for low, high in ends):  # zero at one height
        deepest = max(-low / high for low, high in ends)
        for side, (_, high) in zip(sides, ends, strict=True):
            side.set_ylim(-deepest * high, high)
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


def _alike(drawn: Sequence[Series]) -> bool:
    """Whether one axis shows all curves well."""
    ends = [(float(s.finite.values.min()), float(s.finite.values.max())) for s in drawn]
    whole = max((high for _, high in ends), default=0.0) / ALIKE - min((low for low, _ in ends), default=0.0) / ALIKE
    return all(high - low >= whole for low, high in ends)


def _harmless(name: str) -> str:
    """A name for a legend: one that begins with "_" is left out there, and a dollar begins a formula."""
    return name.lstrip("_").replace("$", r"\$")
