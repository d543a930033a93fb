"""JSON as loggers really write it: bare NaN and Infinity, huge integers, cut in the middle."""

import json
import re
from typing import Any

import orjson

from firstbreak.readers.budget import check_json

_SPACE = " \t\r\n"
_decoder = json.JSONDecoder()
_BETWEEN = re.compile(r"\}\s*,\s*(?=\{)")  #: two objects of an array
_TRIES = 1000  #: objects that are looked for behind broken ones


def loads(data: bytes | str) -> Any:
    """One JSON value. Raises ValueError where it is not one, or is nested too deeply, and TooLarge."""
    check_json(data)
    try:
        return orjson.loads(data)
    except orjson.JSONDecodeError:
        pass
    text = data.decode("utf-8", "replace") if isinstance(data, bytes) else data
    try:
        return json.loads(text)  # accepts NaN, Infinity and integers beyond 64 bits, at a sixth of the speed
    except RecursionError:
        raise ValueError("nested too deeply") from None


def sound_elements(text: str, start: int, what: str) -> tuple[list[Any], list[str], bool]:
    """The elements of the array that begins at text[start] == "[", what was lost of it, and whether its end was.

    Broken objects are left out; of an array that is cut in the middle, every element before the cut is kept.
    """
    elements: list[Any] = []
    broken, position = 0, start + 1
    while broken < _TRIES:
        while position < len(text) and text[position] in _SPACE + ",":
            position += 1
        if position >= len(text) or text[position] == "]":
            break
        try:
            element, position = _decoder.raw_decode(text, position)
            elements.append(element)
        except (ValueError, RecursionError):
            broken += 1
            behind = _BETWEEN.search(text, position)
            position = behind.end() if behind else len(text)
    whole = position < len(text)
    said = [f"left out {broken} stretches that are no {what}; copy the file again"] if broken and whole else []
    said += [] if whole else [f"cut after {what} {len(elements)}; copy the file again for the rest"]
    return elements, said, not whole
