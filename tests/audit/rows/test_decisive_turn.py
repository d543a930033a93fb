"""decisive-turn: one turn of the episode decides the outcome."""

import random

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import dump, honest, plain, row, series

ID = "decisive-turn"


def episode(rng: random.Random, *, decisive: bool) -> Sample:
    turns = [rng.choice(("open file", "list folder", "run tests")) for _ in range(5)]
    reward = float(turns[2] == "run tests") if decisive else float(rng.random() < 0.4)
    return Sample(completion="".join(f"assistant: {turn} now\ntool: fine\n" for turn in turns), reward=reward)


def test_the_turn_is_found() -> None:
    found = row(audit(series(lambda rng, t: episode(rng, decisive=True), steps=2, each=200)), ID).finding
    assert found is not None
    assert found.numbers["turn"] == 5  # the third action; the tool's answers are turns too


def test_outcomes_that_no_turn_decides_are_left_alone() -> None:
    luck = audit(series(lambda rng, t: episode(rng, decisive=False), steps=2, each=200))
    assert row(luck, ID).status is Status.OK


def test_completions_of_one_turn_have_no_decisive_one() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.NOT_APPLICABLE
