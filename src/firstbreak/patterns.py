"""Regular expressions that are compiled when they are first asked: a start defines two hundred, and asks half of them."""

import re
from typing import Any, cast


class _Later:
    def __init__(self, pattern: str, flags: int) -> None:
        self.pattern, self._flags = pattern, flags

    def __getattr__(self, name: str) -> Any:
        found = self.__dict__[name] = getattr(re.compile(self.pattern, self._flags), name)
        return found


def pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """As `re.compile`, later. For the methods of a pattern; the functions of `re` do not take it."""
    return cast("re.Pattern[str]", _Later(text, flags))
