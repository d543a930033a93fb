"""Samples as they were dumped, one page after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firstbreak.audit.blind import split
from firstbreak.audit.marks import MARKS, key_of
from firstbreak.model import Sample
from firstbreak.reports import html
from firstbreak.reports.markup import Markup, element
from firstbreak.web.pages.frame import address, frame
from firstbreak.web.shelf import Line, Placed
from firstbreak.words import number


def page(
    line: Line,
    shown: Sequence[Placed],
    nth: int,
    more: bool,
    asked: Mapping[str, str],
    marks: Mapping[str, str],
) -> str:
    """The `nth` page of samples. `asked`: what they were asked by, `q` and `step`, where it is anything."""
    search = element(
        "form",
        element(
            "label", "Find in the text", element("input", type="search", name="q", value=asked.get("q"), id="filter")
        ),
        element(
            "label",
            "From step",
            element("input", type="number", name="step", value=asked.get("step"), min=0, step="any"),
        ),
        element("button", "Find"),
        class_="row find",
        method="get",
    )
    turn = element(
        "p",
        element("a", "Earlier", href=address("samples", line.name, page=nth - 1, **asked), rel="prev") if nth else None,
        element("a", "Later", href=address("samples", line.name, page=nth + 1, **asked), rel="next") if more else None,
        class_="row",
    )
    trail = (element("a", html.literal(line.name), href=address("run", line.name)), element("h1", "Samples"))
    content = [sample(line.name, s, i, marks) for i, s in shown] or [
        element("p", "No sample fits." if asked else "There are no samples here.")
    ]
    return frame(f"Samples: {line.name}", trail, search, *content, turn)


def sample(name: str, shown: Sample, place: int, marks: Mapping[str, str]) -> Markup:
    """One sample as it was dumped, line by line, and what somebody has said of it."""
    said = marks.get(key_of(split(shown)[0]), "")
    facts = [
        *([f"step {number(shown.step)}"] if shown.step is not None else []),
        *([f"reward {number(shown.reward)}"] if shown.reward is not None else []),
        *([f"advantage {number(shown.advantage)}"] if shown.advantage is not None else []),
        *(f"{name} {number(value)}" for name, value in shown.rewards.items()),
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
    prompt = element("div", element("h4", "Prompt"), _lines(shown.prompt), class_="prompt") if shown.prompt else None
    completion = element("div", element("h4", "Completion"), _lines(shown.completion), class_="completion")
    text = element("div", prompt, completion, class_="texts")
    return element("section", head, text, class_="sample", id=f"sample-{place + 1}")


def _lines(text: str) -> Markup:
    """The text with its own line breaks; every other character that would act is spelled out."""
    first, *rest = text.split("\n")
    return element("p", first, *(part for line in rest for part in (element("br"), line)), dir="auto", class_="text")
