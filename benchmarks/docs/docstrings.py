"""Docstrings of detectors, causes and dialects as Markdown."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from benchmarks.docs.markdown import table
from firstbreak.engine import registry
from firstbreak.engine.families import in_words
from firstbreak.model import Link
from firstbreak.words import link_word


def by_link(found: Mapping[str, Any]) -> Iterator[tuple[Link, list[Any]]]:
    """The links in their order, each with what belongs to it."""
    for link in Link:
        members = [item for item in found.values() if item.link is link]
        if members:
            yield link, members


def head(kind: str, item: Any) -> list[str]:
    """What the page of a detector or a cause begins with."""
    word = link_word(item.link)
    index = f"../{kind}s.md#{word.replace(' ', '-')}"
    return [f"# {item.id}", f"{item.title.rstrip('.')}. A {kind} of the link [{word}]({index})."]


def tables_by_link(kind: str, found: Mapping[str, Any]) -> list[str]:
    """The index of a kind: for each link a heading, its question, and a row for each member, which leads to the member's page."""
    parts = []
    for link, members in by_link(found):
        rows = [[f"[{item.id}]({kind}s/{item.id}.md)", item.title.rstrip(".")] for item in members]
        parts += [f"## {link_word(link).capitalize()}", f"*{link.question}*", table([kind, "in one line"], rows)]
    return parts


def sections(doc: str) -> str:
    """A docstring's headings one level below its own; options in braces as code."""
    parts = registry.sections(in_words(doc))
    return "\n\n".join(f"**{heading}**\n\n{prose(text)}" for heading, text in parts.items() if heading and text)


def prose(text: str) -> str:
    """`{learning_rate}` stands for the trainer's own option; a bare address becomes a link; a list gets room before it."""
    text = re.sub(r"\{(\w+)\}", r"`\1`", text)
    text = re.sub(r"(?<![(<`\"])\b(https?://[^\s<>)`]+)", r"<\1>", text)
    return re.sub(r"(?m)^(?!- |  |$)(.+)\n(?=- )", r"\1\n\n", text)


def codes(names: Iterable[str]) -> str:
    """Names as they are typed."""
    return ", ".join(f"`{name}`" for name in names)
