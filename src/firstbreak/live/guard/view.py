"""The screen for a live run: progress, verdict, the ten links, and the most important curves."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from firstbreak.dialects._table import words
from firstbreak.engine.inputs import Inputs
from firstbreak.live.guard import synchronous
from firstbreak.model import Diagnosis, Run
from firstbreak.reports import brief, content, screen, sparkline, terminal
from firstbreak.reports.terminal_style import STYLE, Page, TerminalStyle
from firstbreak.words import number, percent

MOST_CURVES = 6
MOST_FINDINGS = 3
NAME = 28  #: columns for the name of a curve
BAR = 24  #: columns of the progress bar
SHOWN = words("kl.ref kl.old policy.entropy grad.norm length.mean value.explained_variance policy.clip_fraction")


def renderable(dx: Diagnosis, rows: Sequence[str] = (), so_far: Callable[[], str] = str) -> Page:
    """The screen for `rich.live.Live`, with the width and the characters of the console.

    `rows`: the curves, in their order (`chosen`); `so_far`: a line that each drawing asks for again.
    """
    return Page(partial(_files, dx, rows or chosen(dx), so_far))


def _files(
    dx: Diagnosis, rows: Sequence[str], so_far: Callable[[], str], how: TerminalStyle
) -> Iterator[RenderableType]:
    yield terminal.head(dx, how)
    yield how.text(f"{content.title(dx.run)}  {progress(dx.run, how)}".strip(), "dim")
    if said := so_far():
        yield how.text(said, "dim")
    yield Text()
    yield how.text(dx.verdict.summary, "bold")
    yield how.hanging(how.text("Do this first:", STYLE[content.mark(dx.verdict)]), how.text(dx.verdict.do_first))
    if settings := synchronous.snippet(dx):
        yield how.text("To rule out stale data, train synchronously:")
        yield how.indented(how.lines(settings.splitlines(), "cyan"))
    yield Text()
    yield screen.links(dx, how)
    yield Text()
    yield _curves(dx, rows, how)
    for outcome in dx.findings[:MOST_FINDINGS]:
        finding = content.found(outcome)
        mark = Text(how.symbol[finding.severity], STYLE[finding.severity])
        yield how.hanging(mark, how.text(f"{outcome.detector}: {brief.message(finding)}"))
        if numbers := brief.numbers(dx.run, finding):
            yield how.indented(how.text(numbers, "dim"))


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


def _curves(dx: Diagnosis, rows: Sequence[str], how: TerminalStyle) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    for series in (dx.run.series[name] for name in rows):
        last = number(float(series.values[-1]))
        short = series.name if len(series.name) <= NAME else f"{series.name[: NAME - 2]}.."
        drawn = sparkline.line(series, how.width - 40, how.ink)
        table.add_row(how.text(short, "dim"), how.text(last), how.text(drawn, "cyan"))
    return table


def chosen(dx: Diagnosis, before: Sequence[str] = ()) -> tuple[str, ...]:
    """The curves to show: the score, then the metrics of the findings, then the usual ones.

    Those of `before` keep their rows; one that no finding speaks of gives its row to one that a finding does.
    """
    score = Inputs(dx.run).score
    found = [o.finding.metric for o in dx.findings if o.finding is not None and o.finding.metric is not None]
    urgent = list(dict.fromkeys(_called(dx.run, ([] if score is None else [score.name]) + found)))[:MOST_CURVES]
    rows = [name for name in before if name in dx.run.series]
    for name in dict.fromkeys([*urgent, *_called(dx.run, SHOWN)]):
        free = [i for i, old in enumerate(rows) if old not in urgent]
        if name not in rows and len(rows) < MOST_CURVES:
            rows.append(name)
        elif name not in rows and name in urgent and free:
            rows[free[-1]] = name
    return tuple(rows)


def _called(run: Run, names: Sequence[str]) -> list[str]:
    """The curves of those names, or the first estimator of each."""
    known = ([n for n in (name, f"{name}.k1", f"{name}.k2", f"{name}.k3") if n in run.series] for name in names)
    return [found[0] for found in known if found and len(run.series[found[0]])]
