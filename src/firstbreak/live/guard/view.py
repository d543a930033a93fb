"""The screen for a live run: progress, verdict, the ten links, and the most important curves."""

from collections.abc import Iterator
from functools import partial

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from firstbreak.dialects._table import words
from firstbreak.engine.inputs import Inputs
from firstbreak.live.guard import synchronous
from firstbreak.model import Diagnosis, Run, Series
from firstbreak.reports import content, screen, sparkline, terminal
from firstbreak.reports.terminal_style import STYLE, Page, TerminalStyle
from firstbreak.words import number, percent

MOST_CURVES = 6
MOST_FINDINGS = 3
NAME = 28  #: columns for the name of a curve
BAR = 24  #: columns of the progress bar
SHOWN = words("kl.ref kl.old policy.entropy grad.norm length.mean value.explained_variance policy.clip_fraction")


def renderable(dx: Diagnosis) -> Page:
    """The screen for `rich.live.Live`, with the width and the characters of the console."""
    return Page(partial(_files, dx))


def _files(dx: Diagnosis, how: TerminalStyle) -> Iterator[RenderableType]:
    yield terminal.head(dx, how)
    yield how.text(f"{content.title(dx.run)}  {progress(dx.run, how)}".strip(), "dim")
    yield Text()
    yield how.text(dx.verdict.summary, "bold")
    yield how.hanging(how.text("Do this first:", STYLE[content.mark(dx.verdict)]), how.text(dx.verdict.do_first))
    if settings := synchronous.snippet(dx):
        yield how.text("To rule out stale data, train synchronously:")
        yield how.indented(how.lines(settings.splitlines(), "cyan"))
    yield Text()
    yield screen.links(dx, how)
    yield Text()
    yield _curves(dx, how)
    for outcome in dx.findings[:MOST_FINDINGS]:
        assert outcome.finding is not None
        severity = outcome.finding.severity
        yield how.hanging(Text(how.symbol[severity], STYLE[severity]), how.text(outcome.finding.message))


def progress(run: Run, how: TerminalStyle) -> str:
    """The current step, and the planned length if it was recorded."""
    last, total = run.last_step, run.config.number("total_steps")
    if last is None:
        return ""
    if not total or total < last:
        return f"step {number(last)}"
    full, empty = how.bar
    filled = round(BAR * last / total)
    return f"{full * filled}{empty * (BAR - filled)} step {number(last)} of {number(total)} ({percent(last / total)})"


def _curves(dx: Diagnosis, how: TerminalStyle) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for series in shown(dx):
        last = number(float(series.values[-1]))
        short = series.name if len(series.name) <= NAME else f"{series.name[: NAME - 2]}.."
        drawn = sparkline.line(series, how.width - 40, how.ink)
        table.add_row(how.text(short, "dim"), how.text(last), how.text(drawn, "cyan"))
    return table


def shown(dx: Diagnosis) -> list[Series]:
    """The curves to show: the score, then the metrics of the findings, then the usual ones."""
    score = Inputs(dx.run).score
    of_findings = [o.finding.metric for o in dx.findings if o.finding is not None and o.finding.metric is not None]
    wanted = [*([] if score is None else [score.name]), *of_findings, *SHOWN]
    found = {s.name: s for name in wanted for s in _called(dx.run, name) if len(s)}
    return list(found.values())[:MOST_CURVES]


def _called(run: Run, name: str) -> list[Series]:
    """The curve of that name, or its first estimator."""
    return [s for key, s in run.series.items() if key == name or key in (f"{name}.k1", f"{name}.k2", f"{name}.k3")][:1]
