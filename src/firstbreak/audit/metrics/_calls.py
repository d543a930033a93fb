"""Tool calls as agents write them: chat templates' tags, OpenAI's JSON, ReAct's lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

#: (text that occurs in every match, pattern); a plain search for the text is fast and rules out most samples
_CALLS = (
    ("</", re.compile(r"<(?:tool_call|function_call|tool|search|python|code|execute)>(.*?)"
                      r"</(?:tool_call|function_call|tool|search|python|code|execute)>", re.DOTALL)),
    ('"function"', re.compile(r'"function"\s*:\s*(\{[^{}]*\})')),
    ("Action:", re.compile(r"^(Action:[^\n]*(?:\n\s*Action Input:[^\n]*)?)", re.MULTILINE)),
)  # fmt: skip
_ANSWERS = (
    ("</", re.compile(r"<(?:tool_response|result|output|information|observation)>(.*?)"
                      r"</(?:tool_response|result|output|information|observation)>")),
    ("tool:", re.compile(r"^tool: ?(.*)", re.MULTILINE)),
    ("Observation:", re.compile(r"^Observation: ?(.*)", re.MULTILINE)),
)  # fmt: skip
_FAILED = re.compile(r"\b(?:error|exception|traceback|failed|not found|invalid|denied|timed? ?out)\b", re.IGNORECASE)


@lru_cache(maxsize=8)  # several metrics use the same text one after the other
def calls(text: str) -> tuple[str, ...]:
    """The calls of an episode in order, each as its text with the white space collapsed."""
    return tuple(" ".join(call.split()) for call in _found(text, _CALLS))


@lru_cache(maxsize=8)
def answers(text: str) -> tuple[bool, ...]:
    """Whether each answer of a tool, in order, reports a failure."""
    return tuple(bool(_FAILED.search(answer[:400])) for answer in _found(text, _ANSWERS))


def _found(text: str, forms: Sequence[tuple[str, re.Pattern[str]]]) -> list[str]:
    """All matches of the patterns in the order of the text, without matches inside another match."""
    matches = [match for sign, form in forms if sign in text for match in form.finditer(text)]
    found, end = [], 0
    for match in sorted(matches, key=re.Match.start):
        if match.start() >= end:
            found.append(match[1])
            end = match.end()
    return found
