"""A comparison as HTML: the sides, what differs, and each side against the first. The web page shows the same parts."""

from collections.abc import Callable, Sequence

from firstbreak.compare import plots, sentences
from firstbreak.compare.arms import Arm, ArmDifference, Member
from firstbreak.compare.first_difference import FirstDifference, earliest, first_differences
from firstbreak.compare.judge import Judgement, judge
from firstbreak.compare.statistics import Estimate
from firstbreak.reports import html
from firstbreak.reports.markup import Markup, element, join
from firstbreak.words import joined, link_word, number, shortened, step_word

LONGEST_NAME = 64  #: characters of a name in a table
LOOKS = 20  #: sides that colour and dash tell apart

Shown = Callable[[Member], Markup]  #: how a run is named


def render(compared: Sequence[Arm]) -> str:
    """One self-contained page: the scores of all runs, then the tables."""
    drawn = any(member.score is not None for arm in compared for member in arm.members)
    title = f"{sum(len(arm.members) for arm in compared)} runs compared"
    parts = [
        (
            "Scores",
            html.scrolling(Markup(plots.scores(compared)), "Scores")
            if drawn
            else element("p", "No run records a score."),
        ),
        ("The runs", sides(compared, lambda member: html.literal(shortened(member.run.path, LONGEST_NAME)))),
        ("What differs", what_differs(compared)),
        *([("Is it real?", against(compared))] if len(compared) > 1 else []),
    ]
    sections = (element("section", element("h2", heading), content) for heading, content in parts)
    return html.document(title, element("article", *sections), about=f": {title}")


def sides(compared: Sequence[Arm], shown: Shown, swatch: bool = False) -> Markup:
    """Each side with its runs, seeds and final scores. `swatch`: with the colour of its curves."""
    rows = [
        (
            *([element("span", class_=f"swatch run-{i % LOOKS}", aria_hidden="true")] if swatch else []),
            html.literal(arm.name),
            ", ".join(sentences.seeds(arm)) or sentences.NOT_RECORDED,
            sentences.finals(arm).replace("  ", ", "),
            html.literal(joined(arm.measured)),
            element("ul", *(element("li", shown(member)) for member in arm.members), class_="members"),
        )
        for i, arm in enumerate(compared)
    ]
    head = (*([""] if swatch else []), "Side", "Seeds", f"Final score ({sentences.FINAL})", "Score", "Runs")
    best = sentences.best_of(compared)
    notes = [element("p", element("strong", best))] if best else []
    notes += [element("p", note, class_="facts") for arm in compared for note in arm.notes]
    return join(html.table(head, rows, "plain sides", named=int(swatch)), *notes)


def what_differs(compared: Sequence[Arm]) -> Markup:
    """The settings in which the sides differ; what is not recorded is said."""
    found, folded = sentences.parted(compared)
    inferred = element("p", sentences.INFERRED, class_="facts") if sentences.is_inferred(compared) else None
    if len(compared) == 1:
        return join(element("p", sentences.no_difference(compared)), inferred)
    if not (found or folded):
        return element("p", sentences.no_difference(compared))
    table = html.table(("Setting", *(_short(arm) for arm in compared)), [_setting(d, d.values) for d in found])
    only = [
        element(
            "details",
            element("summary", said),
            html.table(("Setting", "Value"), [_setting(d, d.values) for d in group]),
        )
        for said, group in folded.items()
    ]
    return join(table if found else None, *only, inferred)


def _setting(d: ArmDifference, values: Sequence[object]) -> list[Markup | str]:
    name = join(html.literal(d.name), element("span", f" {d.part}", class_="facts"))
    return [name, *(html.literal(sentences.cell(v)) if v is not None else sentences.NOT_RECORDED for v in values)]


def against(compared: Sequence[Arm]) -> Markup:
    """Every other side beside the first: the scores, where the curves first differ, and whether it is real."""
    first, *others = compared
    pairs = [(other, judge(first, other), first_differences(first, other)) for other in others]
    rows = [_pair(first, other, judged, found) for other, judged, found in pairs]
    chances = any(judged and judged.improvement for _, judged, _ in pairs)
    head = ("Side", "Score", shortened(f"Difference to {first.name}", LONGEST_NAME), "First differs in")
    said = sentences.verdicts(first, [(other, judged) for other, judged, _ in pairs])
    single = next(filter(None, (sentences.single(first, other) for other, _, found in pairs if found)), "")
    chance = "The probability is that a run of the side scores above one of the first. " if chances else ""
    note = f"Interquartile means with 95 % intervals. {chance}{single}"
    return join(
        *(element("p", element("strong", text)) for text in said),
        html.table(head, rows),
        element("p", note, class_="facts"),
        *(_links(first, other, found) for other, _, found in pairs if len(found) > 1),
    )


def _pair(first: Arm, other: Arm, judged: Judgement | None, found: Sequence[FirstDifference]) -> tuple[str, ...]:
    score = _estimate(judged.right) if judged else "?"
    gap = _estimate(judged.difference, sign=True) if judged else "?"
    if judged and judged.improvement:
        value, interval = sentences.estimate(judged.improvement)
        gap = join(gap, element("span", f"P(better) {value} ({interval})", class_="about"))
    where = _where(first, earliest(found)) if found else sentences.no_curve(first, other)
    return html.literal(_short(other)), score, gap, where


def _links(first: Arm, other: Arm, found: Sequence[FirstDifference]) -> Markup:
    rows = [
        (link_word(p.link), html.literal(p.metric), _moment(first, p), number(p.left), number(p.right)) for p in found
    ]
    head = ("Link", "First differs in", "At", _short(first), _short(other))
    title = f"Where {first.name} and {other.name} first differ, link by link"
    return element("details", element("summary", title), html.table(head, rows))


def _where(first: Arm, p: FirstDifference) -> Markup:
    place = f"{link_word(p.link)}, {_moment(first, p)}: {number(p.left)} against {number(p.right)}"
    return join(html.literal(p.metric), element("span", place, class_="about"))


def _moment(first: Arm, p: FirstDifference) -> str:
    return f"{step_word(first.members[0].run.axis_of(p.metric))} {number(p.step)}"


def _estimate(value: Estimate, sign: bool = False) -> Markup:
    shown, interval = sentences.estimate(value, sign)
    return join(shown, element("span", interval if value.interval is None else f"[{interval}]", class_="about"))


def _short(arm: Arm) -> str:
    return shortened(arm.name, LONGEST_NAME)
