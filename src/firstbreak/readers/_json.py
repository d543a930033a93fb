"""JSON as loggers really write it: bare NaN and Infinity, huge integers, cut in the middle."""

import json
from typing import Any

import orjson

from firstbreak.readers.budget import check_json

_SPACE = " \t\r\n"
_decoder = json.JSONDecoder()


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


def whole_elements(text: str, start: int) -> tuple[list[Any], bool]:
    """The elements of the array that begins at text[start] == "[", and whether the array is whole.

    Of an array that is cut in the middle, every element before the cut is returned.
    """
    elements: list[Any] = []
    position = start + 1
    while True:
        while position < len(text) and text[position] in _SPACE + ",":
            position += 1
        if position >= len(text):
            return elements, False
        if text[position] == "]":
            return elements, True
        try:
            element, position = _decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            return elements, False
        elements.append(element)
