"""The final answer of a completion, as far as its form tells."""

from __future__ import annotations

import re

_BOXED = re.compile(r"\\boxed\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_AFTER = re.compile(r"(?:####|final answer(?: is)?:?|answer:)\s*(.+)", re.IGNORECASE)
_EDGES = " \t\r\n.,;:!?*`'\"()[]{}<>$#"
TAIL = 400  #: characters at the end of a completion in which the answer is looked for


def final_answer(text: str) -> str:
    """The last boxed, tagged or announced answer, else the last line that is not blank; without decoration at its edges.

    >>> final_answer("so 6 * 7 = 42, and\\n#### 42."), final_answer("...12357")
    ('42', '12357')
    """
    end = text[-TAIL:]
    if "\\boxed" in end and (found := _BOXED.findall(end)):
        return plain(found[-1])
    if "<answer>" in end and (found := _TAGGED.findall(end)):
        return plain(found[-1])
    if ("#" in end or "nswer" in end) and (found := _AFTER.findall(end)):
        return plain(found[-1])
    return plain(end.rstrip(_EDGES).rpartition("\n")[2])


def plain(answer: str) -> str:
    """An answer in lower case without decoration at its edges."""
    return " ".join(answer.strip(_EDGES).lower().split())
