"""repetition: completions that repeat themselves at their end."""

import random

from firstbreak.audit.audit import audit
from firstbreak.model import Status
from tests.audit.dumps import dump, honest, plain, row
from tests.there import there

ID = "repetition"


def looping(rng: random.Random, t: float, answer: int) -> str:
    return plain(rng, t, answer) + " and once more" * round(60 * t)


def always_the_same_table(rng: random.Random, t: float, answer: int) -> str:
    return plain(rng, t, answer) + "\n| a | b |" * 30


def test_loops_are_found() -> None:
    found = there(row(audit(dump(looping, honest)), ID).finding)
    assert found.numbers["share"] > found.numbers["baseline"] + 0.2


def test_repetition_that_was_there_from_the_start_is_left_alone() -> None:
    assert row(audit(dump(always_the_same_table, honest)), ID).status is Status.OK
