"""Who looked at which split for what, and how much of a score re-use can explain."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from firstbreak.evals.hygiene import explained, findings
from firstbreak.evals.ledger import Ledger
from firstbreak.evals.protocol import protocol
from firstbreak.evals.reuse import improvements, ladder_bound, luck
from firstbreak.evals.splits import KINDS, Split, Use, declare, history, record
from firstbreak.model import Severity
from tests.there import there


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    """With one split of each kind, called by its kind, of 500 problems."""
    with Ledger(tmp_path / "ledger.db") as ledger:
        for kind, what in KINDS.items():
            declare(ledger, Split(name=kind, kind=kind, allowed=what.allowed, size=500))
        yield ledger


def look(ledger: Ledger, split: str, use: str, score: float = 0.5, **what: str) -> None:
    record(ledger, split=split, use=Use(use), scores={"accuracy": score}, protocol=protocol({"task": "t"}), **what)


def rules(ledger: Ledger) -> list[tuple[str, Severity]]:
    return [(f.numbers["rule"], f.severity) for f in findings(history(ledger))]


def test_splits_used_as_meant_give_no_warning(ledger: Ledger) -> None:
    for kind, what in KINDS.items():
        for use in sorted(what.uses):
            look(ledger, kind, use)
    assert rules(ledger) == []


@pytest.mark.parametrize(
    ("split", "use", "severity"),
    [
        ("public_test", "tune", Severity.CRITICAL),
        ("private_test", "select", Severity.CRITICAL),
        ("smoke", "report", Severity.WARNING),
        ("human_audit", "tune", Severity.WARNING),
        ("dev", "release", Severity.WARNING),
    ],
)
def test_a_split_used_outside_its_purpose(ledger: Ledger, split: str, use: str, severity: Severity) -> None:
    look(ledger, split, use, fed="chose the learning rate")
    (found,) = findings(history(ledger))
    assert (found.numbers["rule"], found.severity) == ("out_of_purpose", severity)
    assert "chose the learning rate" in found.message


def test_a_private_test_opened_twice(ledger: Ledger) -> None:
    look(ledger, "private_test", "release")
    assert rules(ledger) == []
    look(ledger, "private_test", "release")
    assert rules(ledger) == [("evaluated_too_often", Severity.CRITICAL)]


def test_loosening_the_rule_after_a_look_is_seen_and_tightening_it_is_fine(ledger: Ledger) -> None:
    look(ledger, "public_test", "observe")
    declare(ledger, Split(name="public_test", kind="public_test", allowed=5))
    assert rules(ledger) == []
    look(ledger, "private_test", "release")
    declare(ledger, Split(name="private_test", kind="private_test", allowed=5))
    look(ledger, "private_test", "release")
    assert rules(ledger) == [("rules_changed", Severity.WARNING)]


def test_two_protocols_on_one_split_name_the_field(ledger: Ledger) -> None:
    for temperature in (0.0, 0.7):
        record(
            ledger,
            split="dev",
            use=Use.TUNE,
            scores={"a": 0.5},
            protocol=protocol({"task": "t", "temperature": temperature}),
        )
    (found,) = findings(history(ledger))
    assert "differ in temperature" in found.message


def test_a_score_without_protocol_is_noticed(ledger: Ledger) -> None:
    record(ledger, split="dev", use=Use.TUNE, scores={"a": 0.5})
    assert rules(ledger) == [("no_protocol", Severity.NOTICE)]


def test_an_undeclared_split_is_refused_with_the_way_out(ledger: Ledger) -> None:
    with pytest.raises(LookupError, match="firstbreak eval split extra"):
        record(ledger, split="extra", use=Use.TUNE, scores={"a": 0.5})


def test_a_protocol_is_kept_once(ledger: Ledger) -> None:
    look(ledger, "dev", "tune")
    look(ledger, "dev", "tune")
    assert [entry.data["kind"] for entry in ledger].count("protocol") == 1
    (stored,) = history(ledger).protocols.values()
    assert stored.hash == protocol({"task": "t"}).hash


def test_only_looks_that_steer_count_as_reuse(ledger: Ledger) -> None:
    for _ in range(5):
        look(ledger, "dev", "observe", 0.9)
    assert explained(history(ledger), "dev") is None
    for score in (0.5, 0.6, 0.55, 0.7):
        look(ledger, "dev", "tune", score)
    found = there(explained(history(ledger), "dev"))
    assert (found.steering, found.improvements, found.best) == (4, 2, 0.7)
    assert found.bound is not None
    assert found.luck is not None
    assert 0 < found.luck < found.bound < 1


@pytest.mark.parametrize("looks", [2, 3, 10, 100])
def test_luck_is_what_the_best_of_equal_candidates_gains(looks: int) -> None:
    gains = np.random.default_rng(0).normal(0, 0.02, (20_000, looks)).max(axis=1)
    assert luck(looks, 0.02) == pytest.approx(gains.mean(), rel=0.05)


@pytest.mark.parametrize(("size", "rounds"), [(100, 50), (500, 200)])
def test_no_hill_climber_gains_more_than_the_bound(size: int, rounds: int) -> None:
    """Coin flips cannot be predicted: all that a climber gains on a split of them is re-use."""
    rng = np.random.default_rng(size)
    gained = []
    for _ in range(100):
        truth = rng.integers(0, 2, size)
        current = rng.integers(0, 2, size)
        scores = [float(np.mean(current == truth))]
        for _ in range(rounds - 1):
            candidate = np.where(rng.random(size) < 0.05, 1 - current, current)
            scores.append(float(np.mean(candidate == truth)))
            current = candidate if scores[-1] == max(scores) else current
        gained.append((max(scores) - 0.5) / ladder_bound(size, rounds, improvements(scores)))
    assert np.median(gained) > 0.2  # the climber does gain: the bound is about something
    assert np.quantile(gained, 0.95) < 1


def test_the_bound_shrinks_with_size_and_grows_with_looks() -> None:
    assert ladder_bound(10_000, 10, 3) < ladder_bound(1_000, 10, 3) < ladder_bound(1_000, 100, 3)
    assert ladder_bound(1_000, 100, 3) < ladder_bound(1_000, 100, 30)
    assert ladder_bound(10, 1000, 500) == 1.0
