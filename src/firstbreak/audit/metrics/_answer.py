"""The final answer of a completion, found by its form."""

import re
from functools import lru_cache

_BOXED = re.compile(r"\\boxed\{([^{}]*(?:\{[^{}]*\}[^{}]*)*)\}")
_TAGGED = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
_MARKS = ("####", "final answer is", "final answer:", "answer:", "answer is")
_EDGES = " \t\r\n.,;:!?*`'\"()[]{}<>$#"
TAIL = 400  #: characters at the end of a completion that are searched for the answer


@lru_cache(maxsize=1024)  # several parts of the audit need the answer of the same sample
def final_answer(text: str) -> str:
    """The last boxed, tagged or announced answer, else the last line that is not blank; without decoration around it.

    >>> final_answer("so 6 * 7 = 42, and\\n#### 42."), final_answer("...12357")
    ('42', '12357')
    """
    end = text[-TAIL:]
    if "\\boxed" in end and (found := _BOXED.findall(end)):
        return plain(found[-1])
    if "<answer>" in end and (found := _TAGGED.findall(end)):
        return plain(found[-1])
    lowered = end.lower()
    for mark in _MARKS:
        if mark in lowered and (
            said := plain(end[lowered.rindex(mark) + len(mark) :].lstrip(_EDGES).partition("\n")[0])
        ):
            return said
    return plain(end.rstrip(_EDGES).rpartition("\n")[2])


def plain(answer: str) -> str:
    """An answer in lower case without decoration around it."""
    return " ".join(answer.strip(_EDGES).lower().split())
