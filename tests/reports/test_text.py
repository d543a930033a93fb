"""Strings of a log never act: they are shown."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.reports.text import count, to_ascii, visible


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[2J", r"\x1b[2J"),
        ("a\nb\r\tc", r"a\nb\r\tc"),
        ("\x9b31m", r"\x9b31m"),
        ("\u202egnp.exe", r"\u202egnp.exe"),
        ("file\udcff.csv", r"file\udcff.csv"),
        ("\u2028", r"\u2028"),
        ("\U000e0041", r"\U000e0041"),
        ("größe 日本 ×", "größe 日本 ×"),
    ],
)
def test_what_would_act_is_spelled_out(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(st.text(st.characters(categories=None)))
def test_any_text_becomes_visible(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    shown.encode("utf-8")
    assert visible(shown) == shown
    assert to_ascii(shown).isascii()


def test_ascii_keeps_its_meaning() -> None:
    assert to_ascii("a ≥ 1 – “b” → c × 2…") == 'a >= 1 - "b" -> c x 2...'
    assert to_ascii("ß") == r"\xdf"


def test_counts() -> None:
    assert (count(1, "check"), count(2, "check"), count(0, "entry", "entries")) == ("1 check", "2 checks", "0 entries")
