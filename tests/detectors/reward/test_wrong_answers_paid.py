"""wrong-answers-paid: rewards for answers that are wrong."""

from firstbreak.model import Severity, Status
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
