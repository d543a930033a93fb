"""Markdown: what a log says is text, wherever it stands."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from firstbreak.model import Diagnosis
from firstbreak.reports import markdown, terminal
from firstbreak.reports.content import Section
from firstbreak.reports.text import spans, visible
from tests.reports import fixtures

PARSER = MarkdownIt("commonmark").enable(["table", "strikethrough"])


def tokens(text: str) -> list[Token]:
    parsed = PARSER.parse(text)
    return parsed + [child for token in parsed for child in token.children or ()]


def read(text: str) -> str:
    return "".join(token.content for token in tokens(text) if token.type in ("text", "code_inline", "text_special"))


def test_a_hostile_log_adds_no_structure() -> None:
    hostile = fixtures.hostile()
    allowed = {
        "paragraph", "heading", "table", "thead", "tbody", "tr", "td", "th", "bullet_list", "list_item", "strong",
        "em",
    }  # fmt: skip
    ours = {*("<details>", "</details>"), *(f"<summary>{section.heading}</summary>" for section in Section)}
    blocks = [token.content for token in tokens(markdown.render(hostile)) if token.type.startswith("html")]
    assert {line for block in blocks for line in block.splitlines()} <= ours
    kinds = {token.type.removesuffix("_open").removesuffix("_close") for token in tokens(markdown.render(hostile))}
    assert kinds <= allowed | {"html_block", "inline", "text", "text_special", "code_inline", "fence"}
    assert visible(fixtures.HOSTILE).split()[0] in read(markdown.render(hostile))


def test_a_hostile_log_has_the_headings_of_a_calm_one() -> None:
    def headings(dx: Diagnosis) -> list[str]:
        return [token.content for token in PARSER.parse(markdown.render(dx)) if token.type == "html_block"]

    dx = fixtures.hostile()
    calm = dataclasses.replace(dx, run=dataclasses.replace(dx.run, path="a", notes=("b",)))
    assert headings(dx) == headings(calm)


@given(st.text(st.characters(min_codepoint=32, max_codepoint=126)).map(str.strip).filter(bool))
def test_any_text_reads_as_itself(text: str) -> None:
    single = " ".join(text.split())
    shown = "".join(piece for piece, _ in spans(single))
    for line, before in (("{}", ""), ("- {}", ""), ("| a |\n|---|\n| {} |", "a")):
        assert read(line.format(markdown.prose(single))) in (before + single, before + shown)
    assert read(f"x {markdown.code(single)}") == "x " + single


def test_what_stands_between_backticks_is_code() -> None:
    parsed = tokens(markdown.prose("raise `a_b (now <1>)`, not `c|d`"))
    assert [token.content for token in parsed if token.type == "code_inline"] == ["a_b (now <1>)"]
    assert read(markdown.prose("not `c|d`")) == "not `c|d`"


@pytest.mark.parametrize("text", ["http://a.example", "https://a.example/x_y", "www.a.example", "me@a.example"])
def test_addresses_are_not_links(text: str) -> None:
    """GitHub turns bare addresses into links; an escaped character in the middle keeps it from doing so."""
    assert "\\" in markdown.prose(text)
    assert read(markdown.prose(text)) == text


@pytest.mark.parametrize("text", ["# a", "- a", "+ a", "1. a", "23) a", "> a", "=", "---", "***", "~~~", "    a"])
def test_no_text_starts_a_block(text: str) -> None:
    for parsed in (tokens(markdown.prose(text)), tokens(f"- {markdown.prose(text)}")[2:]):
        assert parsed[0].type == "paragraph_open"
    assert read(markdown.prose(text)) == text.strip()


def test_names_with_underscores_stay_readable() -> None:
    assert markdown.prose("set max_completion_length") == "set max_completion_length"


def test_the_verdict_is_a_table_of_ten_lines_and_the_rest_is_folded() -> None:
    dx = fixtures.grpo_truncation()
    head, _, folded = markdown.render(dx).partition("<details>")
    table = [line for line in head.splitlines() if line.startswith("|")]
    assert 5 <= len(table) <= 10
    assert dx.verdict.do_first.split()[0] in head
    assert folded.count("<details>") + 1 == folded.count("</details>")
    assert len(head.splitlines()) <= 14


def test_a_curve_is_drawn_once() -> None:
    dx = fixtures.grpo_truncation()
    first = dx.findings[0]
    twice = dataclasses.replace(first, detector="again", finding=dataclasses.replace(first.finding))
    both = dataclasses.replace(dx, outcomes=(*dx.outcomes, twice))
    for render in (markdown.render, terminal.render):
        once, repeated = render(dx), render(both)
        axis = "\u2500" * 8  # only under a plot
        assert repeated.count(axis) == once.count(axis)
        assert f"drawn above, at {first.detector}" in " ".join(repeated.replace("\\", "").split())
