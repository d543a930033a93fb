"""A small share of `make attack`, and that each of its attacks would be noticed if it succeeded."""

from __future__ import annotations

import json
from pathlib import Path

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


@pytest.mark.parametrize(
    ("attack", "count"),
    [
        ("links", 3),
        ("injections", 3),
        ("kills", 3),
    ],
)
def test_the_other_attacks_hold(attack: str, count: int) -> None:
    tally = getattr(benchmarks_attack.others, attack)(count)
    assert tally.asked >= count
    assert not tally.fell, tally.first


def test_no_hostile_client_gets_anything_and_the_server_answers_on() -> None:
    """How soon the others are answered is for the campaign to say: it depends on how busy the machine is."""
    tally = benchmarks_attack.others.clients(12)
    assert tally.asked == 13
    assert not [what for what in tally.fell if not what.startswith("an honest client")], tally.first


def test_a_mutant_can_be_made_again(tmp_path: Path) -> None:
    made = []
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        benchmarks_attack.values.mutant(tmp_path / name, 11)
        made.append({path.name: path.read_bytes() for path in (tmp_path / name).iterdir()})
    assert made[0] == made[1]


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


def test_counts_are_added_and_mutants_go_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(benchmarks_attack.__main__, "RESULTS", tmp_path / "attack.json")
    monkeypatch.setattr(benchmarks_attack.__main__, "SMALLEST", False)
    asked: list[int] = []

    def counted(first: int, count: int, **_: object) -> benchmarks_attack.AttackTally:
        asked.extend(range(first, first + count))
        return benchmarks_attack.AttackTally(asked=count)

    monkeypatch.setattr(benchmarks_attack.values, "campaign", counted)
    nothing = [f"--{name}=0" for name in benchmarks_attack.__main__.SIZES if name != "semantic"]
    for more in ([], ["--more"], ["--more"]):
        monkeypatch.setattr("sys.argv", ["attack", *nothing, "--semantic=5", *more])
        assert benchmarks_attack.__main__.main() == 0
    assert asked == list(range(15))
    assert json.loads((tmp_path / "attack.json").read_text())["attacks"]["semantic"]["asked"] == 15
