"""A small share of `make attack`, and that each of its attacks would be noticed if it succeeded."""

import pytest

from firstbreak.model import Run
from firstbreak.readers import opening
from firstbreak.reports import html
from tests.lazy import lazy

benchmarks_attack = lazy("benchmarks.attack")

pytestmark = pytest.mark.slow


def test_a_valid_file_with_hostile_values_is_read() -> None:
    tally = benchmarks_attack.values.campaign(0, 60, deep=False)
    assert (tally.asked, dict(tally.fell)) == (60, {})


def test_a_valid_file_with_hostile_values_is_diagnosed_and_reported() -> None:
    tally = benchmarks_attack.values.campaign(0, 8, deep=True)
    assert (tally.asked, dict(tally.fell)) == (8, {})


@pytest.mark.parametrize("number", [6264])
def test_what_once_fell_holds(number: int) -> None:
    assert not benchmarks_attack.values.campaign(number, 1, deep=True).fell


@pytest.mark.parametrize(("attack", "count"), [("links", 3), ("injections", 3), ("kills", 3)])
def test_the_other_attacks_hold(attack: str, count: int) -> None:
    tally = getattr(benchmarks_attack.others, attack)(count)
    assert tally.asked >= count
    assert not tally.fell, tally.first


def test_no_hostile_client_gets_anything_and_the_server_answers_on() -> None:
    """How soon the others are answered is for the campaign to say: it depends on how busy the machine is."""
    tally = benchmarks_attack.others.clients(12)
    assert tally.asked == 13
    assert not [what for what in tally.fell if not what.startswith("an honest client")], tally.first


def test_what_falls_is_counted_and_can_be_done_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(run: Run) -> None:
        raise ZeroDivisionError("a mistake of ours")

    monkeypatch.setattr(benchmarks_attack.values, "_check", crash)
    tally = benchmarks_attack.values.campaign(3, 2, deep=False)
    (what,) = tally.fell
    assert "ZeroDivisionError" in what
    assert (tally.fell[what], tally.first[what]) == (2, "--only 3")


def test_a_link_that_is_followed_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "leads_out", lambda path: None)
    monkeypatch.setattr(opening, "_BY_FOLDER", False)
    assert benchmarks_attack.others.links(1).fell


def test_markup_that_is_not_escaped_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = html.render
    monkeypatch.setattr(html, "render", lambda dx: honest(dx) + benchmarks_attack.others.PAYLOADS[1])
    assert set(benchmarks_attack.others.injections(2).fell) == {"html holds markup of the log"}
