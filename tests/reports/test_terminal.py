"""The terminal report: never wider than the screen, no colour where none is wanted, ASCII where Unicode is not there."""

import io
import re

import pytest
from rich.cells import cell_len
from rich.console import Console

from firstbreak.model import Diagnosis, Link
from firstbreak.reports import content, screen, terminal
from firstbreak.reports.terminal_style import WIDEST, WIDEST_DRAWING
from firstbreak.reports.text import visible
from firstbreak.words import link_word
from tests.make import some_quick
from tests.reports import fixtures

ANSI = re.compile(r"\x1b\[[0-9;]*m")


@pytest.mark.parametrize("color", [False, True])
@pytest.mark.parametrize("width", some_quick([40, 60, 78, 79, 80, 120, 140, 200], 4))
def test_no_line_is_wider_than_the_screen(dx: Diagnosis, width: int, color: bool) -> None:
    lines = ANSI.sub("", terminal.render(dx, width=width, color=color)).split("\n")
    assert max(map(cell_len, lines)) <= min(width, WIDEST_DRAWING)


def test_a_wide_screen_has_the_first_break_beside_the_loop_longer_curves_and_no_longer_text() -> None:
    dx = fixtures.grpo_truncation()
    narrow, wide = (terminal.render(dx, width=width).split("\n") for width in (100, 140))
    (heading,) = [line for line in wide if line.startswith("The training loop")]
    assert heading.endswith("First break")
    assert sum(line.strip() == "First break" for line in narrow) == 1
    assert not [line for line in wide if line.strip() == "First break"]
    assert max(len(line) for line in wide if "▲" in line) > max(len(line) for line in narrow if "▲" in line)
    fixes = [line for line in wide if line.startswith("• Fix")]
    assert fixes
    assert max(map(cell_len, fixes)) <= WIDEST


def test_colour_changes_nothing_but_colour(dx: Diagnosis) -> None:
    plain, coloured = terminal.render(dx), terminal.render(dx, color=True)
    assert "\x1b[" not in plain
    assert "\x1b[1;31m" in terminal.render(fixtures.grpo_truncation(), color=True)
    lines = [line.rstrip() for line in ANSI.sub("", coloured).split("\n")]
    assert "\n".join(lines).rstrip() == plain


def test_no_color_is_respected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    coloured = re.findall(r"\x1b\[([0-9;]*)m", terminal.render(fixtures.grpo_truncation(), color=True))
    codes = {code for sequence in coloured for code in sequence.split(";")}
    assert codes <= {"0", "1", "2", "4", "7"}  # bold, dim, underlined and reverse are not colours


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1"])
def test_a_terminal_without_unicode_gets_ascii(dx: Diagnosis, encoding: str) -> None:
    report = terminal.render(dx, encoding=encoding)
    assert report.isascii()
    assert "The training loop" in report


def test_rich_prints_a_diagnosis_as_one_screen() -> None:
    dx = fixtures.sb3_collapse()
    stream = io.StringIO()
    Console(file=stream, width=80).print(dx)
    assert [line.rstrip() for line in stream.getvalue().rstrip().split("\n")] == screen.render(dx).split("\n")


def test_nothing_in_a_log_moves_the_cursor_or_is_markup() -> None:
    report = terminal.render(fixtures.hostile(), width=100)
    assert not [c for c in report if c != "\n" and visible(c) != c]
    assert "[bold" in report
    assert r"\x1b[31m\x1b]0;owned\x07\r\n#" in report


@pytest.mark.parametrize("width", [60, 80])
def test_the_loop_shows_each_link_with_its_status(dx: Diagnosis, width: int) -> None:
    report = terminal.render(dx, width=width)
    words = [content.status_word(dx, link) for link in Link]
    picture = report[report.index("The training loop") :].split("\n\n")[0]
    for link, word in zip(Link, words, strict=True):
        assert link_word(link) in picture
        assert word in picture


def test_the_broken_link_stands_out_without_colour() -> None:
    report = terminal.render(fixtures.grpo_truncation())
    top, names, statuses, _ = report[report.index("┏") - 32 :].split("\n")[:4]
    assert re.search(r"┏ 3 ━+ ✗ ┓", top)
    assert re.search(r"┃ +rollout +┃", names)
    assert re.search(r"┃ +broken +┃", statuses)
    assert "X BROKEN" not in report
    assert re.search(r"# 3 #+ X #", terminal.render(fixtures.grpo_truncation(), encoding="ascii"))
