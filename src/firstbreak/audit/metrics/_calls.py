"""Tool calls as agents write them: chat templates' tags, OpenAI's JSON, ReAct's lines."""

from __future__ import annotations

import re
from functools import lru_cache

_CALL = re.compile(
    r"<(?:tool_call|function_call|tool|search|python|code|execute)>(.*?)</(?:tool_call|function_call|tool|search|python|code|execute)>"
    r'|"function"\s*:\s*(\{[^{}]*\})'
    r"|^(Action:[^\n]*(?:\n\s*Action Input:[^\n]*)?)",
    re.DOTALL | re.MULTILINE,
)
_ANSWER = re.compile(
    r"<(?:tool_response|result|output|information|observation)>(.*?)</(?:tool_response|result|output|information|observation)>"
    r"|^(?:tool|Observation): ?(.*)",
    re.MULTILINE,
)
_FAILED = re.compile(r"\b(?:error|exception|traceback|failed|not found|invalid|denied|timed? ?out)\b", re.IGNORECASE)
_SIGNS = ('"function"', "Action:", "Observation:", "tool:", "<tool", "<function", "<search", "<python", "<code",
          "<execute", "<result", "<output", "<information", "<observation")  # fmt: skip


@lru_cache(maxsize=8)  # several metrics ask the same text one after the other
def may_hold_calls(text: str) -> bool:
    """Cheap and never wrong when it says no."""
    return any(map(text.__contains__, _SIGNS))


@lru_cache(maxsize=8)
def calls(text: str) -> tuple[str, ...]:
    """The calls of an episode in order, each as its text with the white space collapsed."""
    if not may_hold_calls(text):
        return ()
    return tuple(" ".join("".join(filter(None, match.groups())).split()) for match in _CALL.finditer(text))


@lru_cache(maxsize=8)
def answers(text: str) -> tuple[bool, ...]:
    """Whether each answer of a tool, in order, reports a failure."""
    if not may_hold_calls(text):
        return ()
    found = ("".join(filter(None, match.groups())) for match in _ANSWER.finditer(text))
    return tuple(bool(_FAILED.search(answer[:400])) for answer in found)
