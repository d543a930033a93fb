"""The comparison of runs: the scores over each other first, then the runs, what differs, whether it is real, and all curves."""

from collections import Counter
from collections.abc import Iterable, Sequence

from firstbreak.compare import page as parts
from firstbreak.compare.arms import Member, arms
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Interval, Link, Run, Series
from firstbreak.reports import html, inspection
from firstbreak.reports.markup import Markup, element
from firstbreak.serve.web.pages.frame import address, badge, frame, section
from firstbreak.serve.web.pages.plots import plot, plots
from firstbreak.serve.web.run_store import RunSummary
from firstbreak.serve.web.x_axis import AXES, RULER
from firstbreak.words import axis_word, link_word, shortened

REWARD = "reward.mean"
MOST_OVERLAYS = 2


def page(compared: Sequence[tuple[RunSummary, Run]]) -> str:
    """The page. Every side is compared with the first one."""
    summaries = {id(run): summary for summary, run in compared}
    sides = arms([(summary.name, [run]) for summary, run in compared])

    def shown(member: Member) -> Markup:
        summary = summaries[id(member.run)]
        link = element(
            "a",
            html.literal(shortened(summary.name, parts.LONGEST_NAME)),
            href=address("run", summary.name),
            title=summary.name,
        )
        said = ", ".join(filter(None, (summary.first_break, summary.since, summary.reason)))
        return element(
            "span",
            link,
            badge(summary),
            element("span", html.prose(said), class_="about"),
            class_=summary.action.value if summary.action else None,
        )

    tables = [
        section("runs", "The runs", parts.sides(sides, shown, swatch=True)),
        section("differences", "What differs", parts.what_differs(sides)),
        *([section("real", "Is it real?", parts.against(sides))] if len(sides) > 1 else []),
    ]
    runs = [member.run for arm in sides for member in arm.members]
    names = [summaries[id(run)].name for run in runs]
    drawn = plots(
        names,
        _curves(runs),
        first=_overlay(runs),
        groups_of=[i for i, arm in enumerate(sides) for _ in arm.members],
        legend=[f"{s.name} ({len(s.members)} runs)" if len(s.members) > 1 else s.name for s in sides],
        axes=_axes(runs),
        between=tables,
    )
    content = [drawn] if drawn is not None else tables
    return frame("Comparison", (element("h1", f"{len(compared)} runs compared"),), *content)


def _axes(runs: Sequence[Run]) -> list[tuple[str, str, bool]]:
    """(axis, its name, whether a run can be drawn over it)."""
    rest = [(axis, word, all(RULER[axis](run) is not None for run in runs)) for axis, word in AXES.items()]
    return [("", f"{axis_word(runs[0].axis)}s", True), *rest]


def _overlay(runs: Sequence[Run]) -> list[Markup]:
    """The scores of the runs and the training reward, two curves at most: first what most runs record."""
    scores = [score.name for run in runs if (score := Inputs(run).score) is not None]
    names = [name for name, _ in Counter(scores).most_common()] + [REWARD]
    found = {name: [run.series[name] for run in runs if len(run.series.get(name, ()))] for name in dict.fromkeys(names)}
    most = sorted(filter(None, found.values()), key=len, reverse=True)[:MOST_OVERLAYS]
    return [plot(s[0], _span(s), tall=True) for s in most]


def _curves(runs: Sequence[Run]) -> Iterable[tuple[str, list[Markup]]]:
    """The signals of at least two runs, by link."""
    shared: dict[str, list[Series]] = {}
    for run in runs:
        for name, series in run.series.items():
            if len(series):
                shared.setdefault(name, []).append(series)
    for link in (*Link, None):
        title = "Outside the vocabulary" if link is None else link_word(link).capitalize()
        members = [s for s in shared.values() if len(s) > 1 and inspection.link_of(s[0]) is link]
        yield title, [plot(s[0], _span(s)) for s in members]


def _span(members: Sequence[Series]) -> Interval:
    return min(float(s.steps[0]) for s in members), max(float(s.steps[-1]) for s in members)
