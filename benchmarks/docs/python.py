"""The public names with their signatures and docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

import firstbreak


def page() -> str:
    """docs/reference/python.md"""
    parts = [
        "# Python API",
        "Everything public is imported from `firstbreak` on first use; `import firstbreak` itself loads nothing heavy.",
    ]
    for name in sorted(firstbreak.__all__, key=str.lower):
        item = getattr(firstbreak, name)
        signature = "" if inspect.isclass(item) and issubclass(item, str) else _signature(item)
        parts += [f"## firstbreak.{name}", f"```python\nfirstbreak.{name}{signature}\n```", inspect.getdoc(item) or ""]
        if inspect.isclass(item) and not issubclass(item, str):
            parts += [text for member in _members(item) for text in member]
    return "\n\n".join(parts)


def _signature(item: Any) -> str:
    """As it stands in the source: annotations without quotes, functions by name, wherever they are from."""
    text = re.sub(r"(: |-> )'([^']*)'", r"\1\2", str(inspect.signature(item)))
    text = re.sub(r"<(?:built-in )?function (\w+)[^>]*>", r"\1", text)
    return re.sub(r"\b(?:firstbreak\.[\w.]+\.|collections\.abc\.)", "", text)


def _members(item: type) -> Iterator[tuple[str, str]]:
    """Its own members, and those of what it is made of."""
    own = [part for part in item.__mro__ if part.__module__.startswith("firstbreak.")]
    for name, member in (named for part in own for named in vars(part).items()):
        if name.startswith("_") or not (inspect.isfunction(member) or isinstance(member, property)):
            continue
        doc = inspect.getdoc(member)
        if doc:
            call = f".{name}{_signature(member)}" if inspect.isfunction(member) else f".{name}"
            yield f"### {item.__name__}.{name}", f"```python\n{call}\n```\n\n{doc}"
