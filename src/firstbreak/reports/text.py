"""Strings that are safe to display: hidden and control characters are made visible."""

import re
import textwrap
import unicodedata

from firstbreak.masking import by_look
from firstbreak.words import number

_ESCAPES = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})  # controls, bidi and zero width, lone surrogates, line separators
_CODE = re.compile(r"`([^`\s](?:[^`]*[^`\s])?)`")
_ASCII = str.maketrans(
    {"–": "-", "—": "-", "−": "-", "×": "x", "·": "*", "…": "...", "≥": ">=", "≤": "<=", "≈": "~", "→": "->", "←": "<-"}
    | {"’": "'", "‘": "'", "“": '"', "”": '"', "\N{NO-BREAK SPACE}": " ", "\N{NARROW NO-BREAK SPACE}": " "}
)


def visible(text: str) -> str:
    r"""`text` with every control character made visible, and secrets masked that are known by their look.

    Escape sequences could move the cursor of a terminal, bidirectional overrides could reorder a line, and a newline could
    start a heading. So ESC becomes the four characters `\x1b`, U+202E becomes `\u202e`, and a lone surrogate (an undecodable byte
    of a file name) becomes `\udcff`, so that the result can always be encoded.
    """
    text = by_look(text)
    if text.isprintable():
        return text
    return "".join(_spelled(c) if unicodedata.category(c) in _HIDDEN else c for c in text)


def _spelled(character: str) -> str:
    code = ord(character)
    if character in _ESCAPES:
        return _ESCAPES[character]
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def spans(text: str) -> list[tuple[str, bool]]:
    """`text` in pieces, with a flag for code, which is text between two backticks."""
    return [(piece, bool(i % 2)) for i, piece in enumerate(_CODE.split(text)) if piece]


def to_ascii(text: str) -> str:
    """`text` for a terminal without Unicode: typography is simplified, and other characters are escaped."""
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode("ascii")


def count(n: int, noun: str, plural: str = "") -> str:
    """'1 check', '2 checks', '0 checks'."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"


LONG = 100_000  # from here on a number is written with three digits and a unit
_LONG = re.compile(r"(?<![\w.,/@=-])\d{6,}(?:\.\d+)?(?![\w/]|\.\w)")
_LABELLED = re.compile(r"[A-Z]\w+: ")
_COLUMN = re.compile(r" *(?:- |\S+(?: \S+)* {2,})| +")  # what the rest of an item or of a row is set beside
_UNITS = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "K"))


def short_number(value: float) -> str:
    """23885000 as "23.9M", 311296 as "311K", 0.3125 as it is written elsewhere."""
    if not LONG <= abs(value) < 1e15:
        return number(value)
    size, unit = next((size, unit) for size, unit in _UNITS if abs(value) >= 0.9995 * size)
    return f"{float(f'{value / size:.3g}'):g}{unit}"


def shorter(text: str) -> str:
    """The text with long numbers made short. What stands between backticks is to be copied, and stays."""
    return "".join(f"`{piece}`" if code else _LONG.sub(_of_a_text, piece) for piece, code in spans(text))


def _of_a_text(found: re.Match[str]) -> str:
    value = float(found.group())
    return short_number(value) if value < 1e15 else found.group()


def wrapped(text: str, width: int) -> str:
    """Paragraphs, lists, tables and headings of Markdown as a terminal shows them: none wider than `width` columns."""
    blocks: list[str] = []
    for line in text.split("\n"):
        if not blocks or not (_flows(line) and _flows(blocks[-1].removeprefix("- "))):
            blocks.append(line)
        else:
            blocks[-1] += f" {line.strip()}"
    return "\n".join(_block(block, width) for block in blocks)


def _flows(line: str) -> bool:
    """Whether a line is part of a paragraph: no item, heading, row of a table, name in a list or label."""
    own = line.startswith(("- ", "#")) or "  " in line or _LABELLED.match(line)
    return (" " in line or line.endswith(".")) and not own


def _block(text: str, width: int) -> str:
    if text.startswith("#"):
        return text.lstrip("# ")
    before = _COLUMN.match(text)
    behind = min(len(before[0]) if before else 0, width // 2)
    return textwrap.fill(text, width, subsequent_indent=" " * behind, break_long_words=False, break_on_hyphens=False)
