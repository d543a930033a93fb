"""right-answers-unpaid: right answers without a reward."""

import pytest

from firstbreak.model import Sample, Samples, Severity, Status
from tests.detectors.look import dump, found, look, silent
from tests.make import run

ID = "right-answers-unpaid"


def test_right_answers_that_get_nothing_are_found() -> None:
    rows = [("7", "7", 0.0)] * 20 + [("8", "8", 1.0)] * 10 + [("3", "9", 0.0)] * 10
    assert "20 of 30" in found(ID, run({}, algorithm="grpo", samples=dump(*rows))).message


def test_boxed_answers_are_read() -> None:
    rows = [(r"so it is \boxed{7}", "7", 0.0)] * 20 + [("3", "9", 1.0)] * 2
    assert found(ID, run({}, algorithm="grpo", samples=dump(*rows))).severity is Severity.CRITICAL


def test_a_parser_of_the_last_digits_misses_thousands() -> None:
    """Where a mark is asked for, an answer that is only said may go without a reward."""
    said = [(f"so the answer is ${i % 7 + 1},{i:03d}.", f"{i % 7 + 1}{i:03d}", 0.0) for i in range(20)]
    small = [(f"7 * 1 = 7, the answer is {i}.", f"{i}", 1.0) for i in range(20)]
    assert "20 of 40" in found(ID, run({}, algorithm="grpo", samples=dump(*said, *small))).message
    boxed = [("so \\boxed{5}", "5", 1.0)] * 9
    assert silent(ID, run({}, algorithm="grpo", samples=dump(*said, *boxed)))


def test_a_verifier_that_agrees_is_healthy() -> None:
    rows = [("7", "7", 1.0)] * 20 + [("3", "9", 0.0)] * 20
    assert silent(ID, run({}, algorithm="grpo", samples=dump(*rows)))


def test_scores_do_not_say_right_or_wrong() -> None:
    rows = [("7", "7", i / 40) for i in range(40)]
    assert look(ID, run({}, algorithm="grpo", samples=dump(*rows))).status is Status.NOT_MEASURED


@pytest.mark.parametrize(("paid", "broken"), [(0.0, True), (1.0, False)])
def test_a_stop_string_that_the_engine_cuts_off_leaves_right_answers_unpaid(paid: float, broken: bool) -> None:
    parts = {"r_think": 1.0, "r_correct": paid}
    stopped = {"target": 17, "stop_reason": "</answer>"}
    cut = [Sample(step=i, completion="<answer> 17", reward=0.2 + paid, rewards=parts, meta=stopped) for i in range(20)]
    none = Sample(step=20, completion="3", reward=0.0, rewards=dict.fromkeys(parts, 0.0), meta={"target": 4})
    logged = run({}, algorithm="grpo", samples=Samples(lambda: iter([*cut, none]), ("samples.jsonl",)))
    assert "cuts the stop string" in found(ID, logged).message if broken else silent(ID, logged)
