"""The pairs of the guides' statements on samples, checks, machines and runs: what is declared is true, and some are right."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks.docs.statements import STATEMENTS
from benchmarks.statements.carriers.carrier import CARRIERS, carriers, run, tries

from tests.test_statements import _words, guides

__all__ = ["guides"]
KNOWN = carriers()
LINES = {line for rows in STATEMENTS.values() for line in rows}
#: One of each group, on noise that nobody has looked at.
SHARE = (
    "carriers.read_high_low_random/trl",
    "carriers.private_test_is_looked_at_again/",
    "carriers.rewards_almost_all_one/plain",
    "carriers.run_does_not_fit/grpo",
)
SEED = 900


@pytest.mark.parametrize("id_", KNOWN)
def test_a_quote_stands_in_a_guide_and_the_line_in_the_page(id_: str, guides: str) -> None:
    known = KNOWN[id_]
    assert id_.startswith("carriers.")
    assert known.line in LINES
    assert known.variants
    for part in known.quote.split(" ... "):
        assert _words(part) in guides


def test_there_are_enough_pairs() -> None:
    assert sum(len(known.variants) for known in CARRIERS.values()) >= 120


@pytest.mark.slow
@pytest.mark.parametrize(
    "tried", [t for t in tries(KNOWN.values(), [SEED]) if t.id.startswith(SHARE)], ids=lambda t: t.id
)
def test_a_broken_input_is_named_and_its_look_alike_is_not(tried, tmp_path: Path) -> None:
    answer = run(tried, tmp_path)
    assert answer.right, answer.said
