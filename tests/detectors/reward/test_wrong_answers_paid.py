"""wrong-answers-paid: rewards for answers that are wrong."""

import pytest

from firstbreak.model import Sample, Samples, Severity, Status
from tests.detectors.look import dump, found, look, silent
from tests.make import run

ID = "wrong-answers-paid"


RIGHT, WRONG_PAID, WRONG = ("7", "7", 1.0), ("3", "9", 1.0), ("3", "9", 0.0)


def test_an_error_that_the_policy_exploits_is_found() -> None:
    rows = [RIGHT, WRONG] * 20 + [WRONG_PAID] * 40
    finding = found(ID, run({}, algorithm="grpo", samples=dump(*rows)))
    assert "the share grows" in finding.message
    assert finding.severity is Severity.CRITICAL


def test_a_verifier_that_agrees_is_healthy() -> None:
    assert silent(ID, run({}, algorithm="grpo", samples=dump(*[RIGHT, WRONG] * 20)))


def test_a_reward_that_compares_with_something_else_is_not_accused() -> None:
    assert look(ID, run({}, algorithm="grpo", samples=dump(*[WRONG_PAID, WRONG] * 20))).status is Status.NOT_MEASURED


@pytest.mark.parametrize(("asked", "broken"), [("3+4=?", True), ("what is in the picture?", False)])
def test_several_numbers_that_are_paid_for_one_prompt_cannot_all_be_right(asked: str, broken: bool) -> None:
    """Whose text leaves out what it asks about, a prompt may have several right answers."""
    drawn = [
        Sample(step=i, prompt=asked, completion=f"${5 + i % 3}$", reward=1.2, rewards={"accuracy_reward": 1.0})
        for i in range(60)
    ]
    logged = run({}, algorithm="grpo", samples=Samples(lambda: iter(drawn), ("completions.parquet",)))
    assert ("40 of 60" in found(ID, logged).message) if broken else look(ID, logged).status is Status.NOT_MEASURED


def test_one_number_that_is_paid_for_a_prompt_is_healthy() -> None:
    drawn = [
        Sample(step=i, prompt="3+4=?", completion=f"${5 + i % 3}$", reward=0.0, rewards={"accuracy": float(i % 3 == 2)})
        for i in range(60)
    ]
    assert silent(ID, run({}, algorithm="grpo", samples=Samples(lambda: iter(drawn), ("completions.parquet",))))
