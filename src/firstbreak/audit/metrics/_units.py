"""Splits a text into words or characters, for metrics of sequences."""

from collections.abc import Iterable

#: a text with fewer words (digits, code, a tiny vocabulary) is split into characters
FEW_WORDS = 8
HALF = 300  #: characters of either end of a long text


def pieces(text: str) -> list[str] | str:
    """The words of a text, or its characters where the text has hardly any words."""
    words = text.split()
    return words if len(words) >= FEW_WORDS else text


def ends(text: str) -> str:
    """The beginning and the end of a text, so that the cost is bounded."""
    return text if len(text) <= 2 * HALF else text[:HALF] + text[-HALF:]


def density(text: str, phrases: Iterable[str]) -> float:
    """Number of occurrences of the phrases in 1000 characters of a text. NaN for an empty text.

    One plain search for each phrase is ten times as fast as a regular expression for all of them.
    """
    return 1000.0 * sum(map(text.count, phrases)) / len(text) if text else float("nan")
