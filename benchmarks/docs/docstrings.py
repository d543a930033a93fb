"""Docstrings of detectors, causes and dialects as Markdown."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from firstbreak.engine import registry
from firstbreak.engine.families import in_words
from firstbreak.model import Link


def by_link(found: Mapping[str, Any]) -> Iterator[tuple[Link, list[Any]]]:
    """The links in their order, each with what belongs to it."""
    for link in Link:
        members = [item for item in found.values() if item.link is link]
        if members:
            yield link, members


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
