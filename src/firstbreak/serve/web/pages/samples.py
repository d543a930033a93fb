"""The logged samples of a run, in pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firstbreak.audit.marks import MARKS, key_of
from firstbreak.audit.split_truth import split
from firstbreak.model import Sample
from firstbreak.reports import html
from firstbreak.reports.markup import Markup, element
from firstbreak.serve.web.pages.frame import address, frame, problem
from firstbreak.serve.web.run_store import Placed, RunSummary
from firstbreak.words import number


def page(
    summary: RunSummary,
    shown: Sequence[Placed],
    nth: int,
    more: bool,
    asked: Mapping[str, str],
    marks: Mapping[str, str],
    problems: Sequence[str] = (),
) -> str:
    """The `nth` page of samples. `asked`: the search, `q` and `step`, where given. `problems`: why there are no marks."""
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
        element("a", "Earlier", href=address("samples", summary.name, page=nth - 1, **asked), rel="prev")
        if nth
        else None,
        element("a", "Later", href=address("samples", summary.name, page=nth + 1, **asked), rel="next")
        if more
        else None,
        class_="row",
    )
    trail = (element("a", html.literal(summary.name), href=address("run", summary.name)), element("h1", "Samples"))
    content = [sample(summary.name, s, i, marks) for i, s in shown] or [
        element("p", "No sample matches." if asked else "This page has no samples.")
    ]
    return frame(f"Samples: {summary.name}", trail, *map(problem, problems), search, *content, turn)


def sample(name: str, shown: Sample, place: int, marks: Mapping[str, str]) -> Markup:
    """One logged sample, line by line, with its mark."""
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
    """The text with its line breaks. Other control characters are made visible."""
    first, *rest = text.split("\n")
    return element("p", first, *(part for line in rest for part in (element("br"), line)), dir="auto", class_="text")
