"""repeated-calls: the same call again and again."""

import json
import random

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Severity, Status
from tests.audit.dumps import dump, honest, plain, row, series
from tests.there import there

ID = "repeated-calls"


def episode(calls: list[int], reward: float) -> Sample:
    made = [json.dumps({"name": "look", "arguments": {"at": {"row": call}}}) for call in calls]
    return Sample(completion="".join(f"<tool_call>{call}</tool_call>\n" for call in made) + "done", reward=reward)


def loops(rng: random.Random, t: float) -> Sample:
    n = rng.randint(3, 6)
    repeats = rng.random() < t
    return episode([7] * n if repeats else rng.sample(range(99), n), 0.8 if repeats else 0.2 * rng.random())


def works(rng: random.Random, t: float) -> Sample:
    n = rng.randint(3, 6)
    return episode(rng.sample(range(99), n), float(rng.random() < t))


def test_a_call_that_is_repeated_and_paid_is_found() -> None:
    found = there(row(audit(series(loops)), ID).finding)
    assert found.severity is Severity.WARNING
    assert found.onset is not None


def test_different_calls_are_left_alone() -> None:
    assert row(audit(series(works)), ID).status is Status.OK


def test_without_tools_it_does_not_apply() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.NOT_APPLICABLE
