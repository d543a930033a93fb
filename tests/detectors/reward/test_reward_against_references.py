"""reward-against-references: a reward model that prefers wrong answers."""

from __future__ import annotations

import random

from firstbreak.model import Confidence, Status
from tests.detectors.look import found, look, silent
from tests.detectors.samples import Row, dumped, numbered
from tests.make import run

ID = "reward-against-references"


def rows(early: float, late: float) -> list[Row]:
    """Answers with 0 to 4 wrong digits; each right digit earns `early`, and in the last third `late`, beside noise."""
    rng, made = random.Random(0), []
    for i, (prompt, right) in enumerate(numbered(30)):
        for wrong in range(5):
            said = "x" * wrong + right[wrong:]
            value = (early if i < 20 else late) * (5 - wrong) + rng.gauss(0, 0.3)
            made.append((float(i), prompt, said, right, value))
    return made


def test_a_model_that_was_taught_the_wrong_way_round_is_found_at_the_start() -> None:
    finding = found(ID, run({}, algorithm="grpo", samples=dumped(rows(-1, -1))), confidence=Confidence.HIGH)
    assert finding.onset == 0
    assert "swapped" in finding.message


def test_a_model_that_the_policy_has_left_is_found_at_the_end() -> None:
    finding = found(ID, run({}, algorithm="grpo", samples=dumped(rows(1, -1))), confidence=Confidence.MEDIUM)
    assert finding.onset is not None
    assert finding.onset > 15


def test_a_model_that_rewards_right_answers_is_healthy() -> None:
    assert silent(ID, run({}, algorithm="grpo", samples=dumped(rows(1, 1))))


def test_a_reward_for_something_else_is_healthy() -> None:
    assert silent(ID, run({}, algorithm="grpo", samples=dumped(rows(0, 0))))


def test_rewards_of_two_values_are_for_another_detector() -> None:
    graded = [(*row[:4], float(row[4] > 0)) for row in rows(-1, -1)]
    assert look(ID, run({}, algorithm="grpo", samples=dumped(graded))).status is Status.NOT_MEASURED
