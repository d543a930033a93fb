"""What a text is made of, for metrics that look at pieces of it."""

from __future__ import annotations

FEW_WORDS = (
    8  #: below it, text has no words to speak of (digits, code, a tiny vocabulary): its characters are the pieces
)


def pieces(text: str) -> list[str] | str:
    """The words of a text, or its characters where it has hardly any words."""
    words = text.split()
    return words if len(words) >= FEW_WORDS else text


def per_thousand(count: float, text: str) -> float:
    """A count per 1000 characters, NaN for an empty text."""
    return 1000.0 * count / len(text) if text else float("nan")
