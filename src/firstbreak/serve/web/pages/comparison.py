"""The comparison of runs: the scores over each other first, then the runs, what differs, whether it is real, and all curves."""

from collections.abc import Iterable, Sequence

from firstbreak.compare import page as parts
from firstbreak.compare.arms import Member, arms
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Link, Run, Series
from firstbreak.reports import html, inspection
from firstbreak.reports.markup import Markup, element
from firstbreak.serve.web.curves import axes
from firstbreak.serve.web.pages.frame import address, badge, frame, section
from firstbreak.serve.web.pages.plots import plot, plots
from firstbreak.serve.web.run_store import RunSummary
from firstbreak.words import axis_word, link_word, shortened

REWARD = "reward.mean"
MOST_OVERLAYS = 4


def page(compared: Sequence[tuple[RunSummary, Run]]) -> str:
    """The page. Every side is compared with the first one."""
    summaries = {id(run): summary for summary, run in compared}
    sides = arms([(summary.name, [run]) for summary, run in compared])

    def shown(member: Member) -> Markup:
        summary = summaries[id(member.run)]
        name = html.literal(shortened(summary.name, parts.LONGEST_NAME))
        link = element("a", name, href=address("run", summary.name), title=summary.name)
        said = ", ".join(filter(None, (summary.first_break, summary.since, summary.reason)))
        about = element("span", html.prose(said), class_="about")
        return element("span", link, badge(summary), about, class_=summary.action.value if summary.action else None)

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
        legend=[f"{arm.name} ({len(arm.members)} runs)" if len(arm.members) > 1 else arm.name for arm in sides],
        axes=axes(runs, sorted({name for name, _ in _shared(runs)})),
        between=tables,
    )
    content = [drawn] if drawn is not None else tables
    return frame("Comparison", (element("h1", f"{len(compared)} runs compared"),), *content)


def _overlay(runs: Sequence[Run]) -> list[Markup]:
    """The scores of the runs and the training reward: what most runs record, at least one for each kind of steps."""
    names = {score.name for run in runs if (score := Inputs(run).score) is not None} | {REWARD}
    found = sorted((f for key, f in _members(runs).items() if key[0] in names), key=len, reverse=True)
    first = {f[0].axis: f for f in reversed(found)}
    rest = [f for f in found if f is not first[f[0].axis]][: max(0, MOST_OVERLAYS - len(first))]
    several = len(first) > 1
    return [_plot(f, several, tall=True) for f in found if f is first[f[0].axis] or f in rest]


def _curves(runs: Sequence[Run]) -> Iterable[tuple[str, list[Markup]]]:
    """The signals of at least two runs, by link."""
    shared = _shared(runs).values()
    several = len({members[0].axis for members in shared}) > 1
    for link in (*Link, None):
        title = "Outside the vocabulary" if link is None else link_word(link).capitalize()
        yield title, [_plot(members, several) for members in shared if inspection.link_of(members[0]) is link]


def _shared(runs: Sequence[Run]) -> dict[tuple[str, str], list[Series]]:
    return {key: members for key, members in _members(runs).items() if len(members) > 1}


def _members(runs: Sequence[Run]) -> dict[tuple[str, str], list[Series]]:
    """(signal, kind of its steps) -> the curves. Two kinds of steps never share an axis."""
    found: dict[tuple[str, str], list[Series]] = {}
    for run in runs:
        for name, series in run.series.items():
            if len(series):
                found.setdefault((name, series.axis), []).append(series)
    return found


def _plot(members: Sequence[Series], several: bool, tall: bool = False) -> Markup:
    """One figure. `several`: the runs count different kinds of steps, so it says which are its own."""
    span = min(float(s.steps[0]) for s in members), max(float(s.steps[-1]) for s in members)
    raws = list(dict.fromkeys(s.raw for s in members))
    return plot(members[0], span, tall=tall, raws=raws, over=axis_word(members[0].axis) if several else "")
