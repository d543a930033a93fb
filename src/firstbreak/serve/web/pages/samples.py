"""The logged samples of a run, in pages."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from firstbreak.audit.marks import MARKS, key_of
from firstbreak.audit.split_truth import split
from firstbreak.model import Finding, Sample
from firstbreak.reports import html
from firstbreak.reports.markup import Markup, element, lines
from firstbreak.serve.web.browse import SORTS, SamplePage, SampleQuery
from firstbreak.serve.web.pages.frame import address, frame, problem
from firstbreak.serve.web.run_store import RunSummary
from firstbreak.words import number

ASKED = ("q", "step", "until", "sort", "order", "least", "most", "once", "finding")  #: what an address may ask for
PER_PAGE = 20


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
    turn = element(
        "p",
        element("a", "Earlier", href=address("samples", summary.name, page=nth - 1, **query), rel="prev")
        if nth
        else None,
        element("a", "Later", href=address("samples", summary.name, page=nth + 1, **query), rel="next")
        if more
        else None,
        class_="row",
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
        turn,
    )


def _search(query: Mapping[str, str], asked: SampleQuery, parts: Sequence[str], found: Mapping[str, Finding]) -> Markup:
    def choice(name: str, options: Iterable[tuple[str, str]], now: str) -> Markup:
        return element(
            "select", *(element("option", word, value=key, selected=key == now) for key, word in options), name=name
        )

    def entry(name: str, **attributes: str | int | None) -> Markup:
        return element("input", type="number", step="any", name=name, value=query.get(name), **attributes)

    sorts = [("", "as logged"), *((name, name) for name in (*SORTS, *parts))]
    orders = [("", "highest first"), ("rising", "lowest first")]
    return element(
        "form",
        element(
            "label", "Find in the text", element("input", type="search", name="q", value=query.get("q"), id="filter")
        ),
        element(
            "label", "Finding", choice("finding", [("", "any"), *((k, k) for k in found)], query.get("finding", ""))
        )
        if found
        else None,
        element("label", "From step", entry("step", min=0)),
        element("label", "to step", entry("until", min=0)),
        element("label", "Sort by", choice("sort", sorts, asked.by)),
        element("label", "Order", choice("order", orders, query.get("order", ""))),
        *(
            element("label", f"{asked.by.capitalize()} {word}" if word == "from" else word, entry(name))
            for name, word in (("least", "from"), ("most", "to"))
            if asked.by not in ("", "step")
        ),
        element(
            "label", element("input", type="checkbox", name="once", value="1", checked=asked.once), "Each text once"
        ),
        element("button", "Find"),
        class_="row find",
        method="get",
    )


def sample(name: str, shown: Sample, place: int, marks: Mapping[str, str], times: int = 1) -> Markup:
    """One logged sample, line by line, with its mark. `times`: how often its text was found."""
    said = marks.get(key_of(split(shown)[0]), "")
    facts = [
        *([f"step {number(shown.step)}"] if shown.step is not None else []),
        *([f"reward {number(shown.reward)}"] if shown.reward is not None else []),
        *([f"advantage {number(shown.advantage)}"] if shown.advantage is not None else []),
        *(f"{name} {number(value)}" for name, value in shown.rewards.items()),
        f"{len(shown.completion)} characters",
        *([f"this text {times} times"] if times > 1 else []),
    ]
    buttons = element(
        "div",
        *(
            element("button", word.capitalize(), type="button", data_mark=word, aria_pressed=str(word == said).lower())
            for word in MARKS
        ),
        class_="marks",
        role="group",
        aria_label=f"mark sample {place + 1}",
        data_address=address("marks", name),
        data_place=place,
    )
    head = element(
        "header", element("h3", f"Sample {place + 1}"), element("p", ", ".join(facts), class_="facts"), buttons
    )
    texts = (("Prompt", shown.prompt), ("Completion", shown.completion))
    text = element("div", *(_text(head, said) for head, said in texts if said or head == "Completion"), class_="texts")
    return element("section", head, text, class_="sample", id=f"sample-{place + 1}")


def _text(heading: str, text: str) -> Markup:
    said = element("p", lines(text), dir="auto", class_="text")
    return element("div", element("h4", heading), said, class_=heading.lower())
