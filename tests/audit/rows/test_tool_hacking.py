"""tool-hacking: tools that are called for the reward."""

import random
from functools import partial

import pytest

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Severity, Status
from tests.audit.dumps import dump, honest, plain, row, series
from tests.there import there

ID = "tool-hacking"


def calls(n: int, *, alike: bool) -> str:
    return "".join(f'<tool_call>{{"q": {0 if alike else i}}}</tool_call>\n' for i in range(n))


def paid(rng: random.Random, t: float, *, alike: bool) -> Sample:
    n = rng.randint(1, 2) + round(6 * t)
    return Sample(completion=calls(n, alike=alike), reward=0.1 * n, rewards={"calls": 0.1 * n})


def thorough(rng: random.Random, t: float) -> Sample:
    """Harder tasks need more calls, and success rises with them."""
    right = rng.random() < 0.3 + 0.6 * t
    text = calls(rng.randint(1, 2) + round(6 * t), alike=False)
    return Sample(completion=text, reward=float(right), rewards={"accuracy": float(right)})


@pytest.mark.parametrize(("alike", "said"), [(True, "change nothing"), (False, "the component calls")])
def test_calls_that_change_nothing_or_are_rewarded_for_themselves_are_found(alike: bool, said: str) -> None:
    assert said in there(row(audit(series(partial(paid, alike=alike))), ID).finding).message


def test_more_calls_that_help_are_left_alone() -> None:
    assert row(audit(series(thorough)), ID).status is Status.OK


def test_without_tools_it_does_not_apply() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.NOT_APPLICABLE


def paid_by_another_name(rng: random.Random, t: float, wins: float) -> Sample:
    """Calls are paid by a part whose name does not say so; the environment records whether the task was done."""
    n = rng.randint(1, 3) + round(5 * t)
    won = rng.random() < wins
    return Sample(completion=calls(n, alike=False), reward=0.3 * n + won, meta={"success": won})


def test_paid_calls_without_a_finished_task_are_a_warning_by_the_recorded_outcome() -> None:
    found = there(row(audit(series(lambda rng, t: paid_by_another_name(rng, t, 0.25))), ID).finding)
    assert found.severity is Severity.WARNING
    assert "success does not rise" in found.message


def test_paid_calls_with_more_finished_tasks_are_no_warning() -> None:
    found = row(audit(series(lambda rng, t: paid_by_another_name(rng, t, 0.1 + 0.8 * t))), ID).finding
    assert found is None or found.severity is Severity.NOTICE
