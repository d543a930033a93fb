"""Python and JSON literals as trainers print them, parsed without evaluating anything.

`ast.literal_eval` refuses what logs are full of: nan, inf, np.float64(0.5), tensor(0.5, device='cuda:0'), <class 'X'>.
"""

import re
from typing import Any

import orjson

from firstbreak.patterns import pattern

MAX_DEPTH = 60  # deeper nesting is an attack or a broken writer, never a metric

_TOKEN = pattern(
    r"""\s*(?:
        (?P<string>[bBrRuU]{0,2}(?:'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"))
      | (?P<number>[+-]?(?:(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|(?:nan|inf|NaN|Infinity)\b))
      | (?P<name>[A-Za-z_][\w.]*|\.\.\.)
      | (?P<object><[^<>]*(?:<[^<>]*>[^<>]*)*>)
      | (?P<mark>[{}\[\]():,=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_CONSTANTS = {"None": None, "null": None, "True": True, "true": True, "False": False, "false": False, "...": ...}
_WRAPPED = pattern(
    r"""(?P<call>[A-Za-z_][\w.]*\()? (?P<list>\[)?
        (?P<quote>['"]?) (?P<number>[^\s'"\[\](),]+) (?P=quote)
        (?(list)\]) (?(call)(?:,[^()]*)?\))""",
    re.VERBOSE,
)
_CLOSING = (")", "]", "'", '"')
_BOOLEANS = {"True": 1.0, "true": 1.0, "TRUE": 1.0, "False": 0.0, "false": 0.0, "FALSE": 0.0}


class Array(list[Any]):
    """What `array([...])` or `tensor([...])` holds, as a list; what numpy left out with dots is missing."""


def parse(text: str) -> Any:
    """The value of a literal: dict, list, str, int, float, bool or None. Raises ValueError where it is not one.

    Tuples and sets become lists; a call is its first argument, or its keywords as a dict; `<...>` stays text.
    """
    if '"' not in text and "\\" not in text:
        # Exact: without double quotes and escapes, every string is '...' with neither inside.
        try:
            return orjson.loads(text.replace("'", '"'))
        except orjson.JSONDecodeError:
            pass
    parser = _Parser(text)
    value = parser.value(0)
    parser.expect_end()
    return value


def number(text: str) -> float | None:
    """The number that a cell or log field holds, whatever it is wrapped in; None where it holds none.

    >>> number("np.float64(0.5)"), number("[21.]"), number("'1e-06'"), number("-inf"), number("True"), number("x")
    (0.5, 21.0, 1e-06, -inf, 1.0, None)
    """
    try:
        return float(text)
    except ValueError:
        pass
    text = text.strip()
    if not text.endswith(_CLOSING):
        return _BOOLEANS.get(text)
    match = _WRAPPED.fullmatch(text)
    return number(match["number"]) if match else None


class _Parser:
    """A recursive-descent parser over the tokens of one literal."""

    def __init__(self, text: str) -> None:
        self.text, self.position = text, 0
        self.kind, self.token = "", ""
        self.advance()

    def advance(self) -> None:
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            if self.text[self.position :].strip():
                raise ValueError(f"no literal at character {self.position}")
            self.kind, self.token = "end", ""
            return
        self.kind, self.token = match.lastgroup or "", match[match.lastgroup or 0]
        self.position = match.end()

    def take(self, mark: str) -> bool:
        if self.kind == "mark" and self.token == mark:
            self.advance()
            return True
        return False

    def expect_end(self) -> None:
        if self.kind != "end":
            raise ValueError(f"unexpected {self.token!r} at character {self.position}")

    def value(self, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH}")
        kind, token = self.kind, self.token
        if kind == "mark" and token in "{[(":
            self.advance()
            return self.braces(depth) if token == "{" else self.items("]" if token == "[" else ")", depth)
        if kind in ("mark", "end"):
            raise ValueError(f"a value was expected at character {self.position}")
        self.advance()
        if kind == "string":
            return _unquote(token)
        if kind == "number":
            return _number(token)
        if kind == "name":
            called = self.call(depth) if self.take("(") else _CONSTANTS.get(token, token)
            return Array(called) if token in ("array", "tensor") and isinstance(called, list) else called
        return token

    def items(self, closing: str, depth: int) -> list[Any]:
        values: list[Any] = []
        while not self.take(closing):
            values.append(self.value(depth + 1))
            self.separator(closing)
        return [value for value in values if value is not ...]

    def braces(self, depth: int) -> Any:
        """A dict, or a set as a list."""
        pairs: dict[Any, Any] = {}
        members: list[Any] = []
        while not self.take("}"):
            key = self.value(depth + 1)
            if self.take(":"):
                pairs[key if isinstance(key, str) else str(key)] = self.value(depth + 1)
            else:
                members.append(key)
            self.separator("}")
        return members or pairs

    def call(self, depth: int) -> Any:
        values: list[Any] = []
        keywords: dict[str, Any] = {}
        while not self.take(")"):
            value = self.value(depth + 1)
            if self.take("="):
                keywords[str(value)] = self.value(depth + 1)
            else:
                values.append(value)
            self.separator(")")
        return values[0] if values else keywords

    def separator(self, closing: str) -> None:
        if not self.take(",") and not (self.kind == "mark" and self.token == closing):
            raise ValueError(f"',' or {closing!r} was expected at character {self.position}")


def _number(token: str) -> int | float:
    try:
        return int(token)
    except ValueError:
        return float(token)


def _unquote(token: str) -> str:
    body = token.lstrip("bBrRuU")[1:-1]
    if "\\" not in body:
        return body
    try:
        return body.encode("latin-1", "backslashreplace").decode("unicode_escape")
    except UnicodeDecodeError:
        return body
