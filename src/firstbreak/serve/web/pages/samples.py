"""The logged samples of a run, in pages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from firstbreak.audit.marks import MARKS, key_of
from firstbreak.audit.split_truth import split
from firstbreak.model import Finding, Sample
from firstbreak.readers._samples import NO_REWARD
from firstbreak.reports import html
from firstbreak.reports.markup import Markup, element, join, lines
from firstbreak.serve.web.browse import SORTS, SamplePage, SampleQuery
from firstbreak.serve.web.pages.frame import address, filled, frame, problem
from firstbreak.serve.web.run_store import RunSummary
from firstbreak.words import number

ASKED = ("q", "step", "until", "sort", "order", "least", "most", "once", "finding")  #: what an address may ask for
PER_PAGE = 20
MOST_NUMBERS = 12  #: beside a sample; more are no components of a reward


def page(
    summary: RunSummary,
    shown: SamplePage,
    nth: int,
    query: Mapping[str, str],
    asked: SampleQuery,
    parts: Sequence[str],
    found: Mapping[str, Finding],
    marks: Mapping[str, str],
    problems: Sequence[str] = (),
) -> str:
    """The `nth` page of samples. `query`: the address as given, `asked`: what it asks for; `problems`: why there are no marks."""
    more = (shown.texts if asked.once else shown.found) > (nth + 1) * PER_PAGE
    turns = (("Earlier", nth - 1, "prev", nth), ("Later", nth + 1, "next", more))
    links = (
        element("a", word, href=address("samples", summary.name, page=place, **query), rel=rel)
        for word, place, rel, there in turns
        if there
    )
    trail = (element("a", html.literal(summary.name), href=address("run", summary.name)), element("h1", "Samples"))
    content = [sample(summary.name, s, i, marks, shown.times.get(i, 1)) for i, s in shown.samples] or [
        element("p", "No sample matches." if query else "This page has no samples.")
    ]
    finding = found.get(query.get("finding", ""))
    said = None if finding is None else element("p", html.prose(finding.message), class_="says")
    marked = Counter(marks.values())
    tally = [f"{shown.found} samples, {shown.texts} different texts"]
    tally += [", ".join(f"{n} {word}" for word in MARKS if (n := marked[word])) + " in all runs"] if marked else []
    count = element("p", "; marked: ".join(tally), class_="facts", id="found")
    return frame(
        f"Samples: {summary.name}",
        trail,
        *map(problem, problems),
        _search(query, asked, parts, found),
        said,
        count,
        *content,
        element("p", "", class_="facts", id="read", role="status"),
        element("p", *links, class_="row"),
    )


def _search(query: Mapping[str, str], asked: SampleQuery, parts: Sequence[str], found: Mapping[str, Finding]) -> Markup:
    def choice(name: str, options: Iterable[tuple[str, str]], now: str) -> Markup:
        rows = (element("option", word, value=key, selected=key == now) for key, word in options)
        return element("select", *rows, name=name)

    def entry(name: str, **attributes: str | int | None) -> Markup:
        return element("input", type="number", step="any", name=name, value=query.get(name), **attributes)

    sorts = [("", "as logged"), *((name, name) for name in (*SORTS, *parts))]
    orders = [("", "highest first"), ("rising", "lowest first")]
    findings = choice("finding", [("", "any"), *((k, k) for k in found)], query.get("finding", ""))
    limits = (("least", f"{asked.by.capitalize()} from"), ("most", "to")) if asked.by not in ("", "step") else ()
    return filled(
        "find",
        text=query.get("q", ""),
        finding=element("label", "Finding", findings) if found else "",
        step=entry("step", min=0),
        until=entry("until", min=0),
        sort=choice("sort", sorts, asked.by),
        order=choice("order", orders, query.get("order", "")),
        limits=join(*(element("label", word, entry(name)) for name, word in limits)),
        once=element("input", type="checkbox", name="once", value="1", checked=asked.once),
    )


def sample(name: str, shown: Sample, place: int, marks: Mapping[str, str], times: int = 1, level: int = 2) -> Markup:
    """One logged sample, line by line, with its mark. `times`: how often its text was found; `level`: of its heading."""
    seen = split(shown)[0]
    said = marks.get(key_of(seen), "")
    parts = {**shown.rewards, **_numbers(seen.meta)}
    numbers = (("step", shown.step), ("reward", shown.reward), ("advantage", shown.advantage), *parts.items())
    facts = [
        *(f"{name} {number(value)}" for name, value in numbers if value is not None),
        f"{len(shown.completion)} characters",
        *([f"this text {times} times"] if times > 1 else []),
    ]
    buttons = (
        element("button", word.capitalize(), type="button", data_mark=word, aria_pressed=str(word == said).lower())
        for word in MARKS
    )
    texts = (("Prompt", shown.prompt), ("Completion", shown.completion))
    return filled(
        "sample",
        nth=str(place + 1),
        heading=element(f"h{level}", f"Sample {place + 1}"),
        place=str(place),
        facts=", ".join(facts),
        address=address("marks", name),
        buttons=join(*buttons),
        texts=join(*(_text(head, said, level + 1) for head, said in texts if said or head == "Completion")),
    )


def _numbers(record: Mapping[str, Any]) -> dict[str, float]:
    """The numbers that stand beside a sample: components of its reward, where the dump does not say so."""
    found = {name: value for name, value in record.items() if type(value) in (int, float) and name not in NO_REWARD}
    return dict(islice(found.items(), MOST_NUMBERS))


def _text(heading: str, text: str, level: int) -> Markup:
    said = element("p", lines(text), dir="auto", class_="text")
    return element("div", element(f"h{level}", heading), said, class_=heading.lower())
