"""diverse-without-progress: many strategies, and no reward that tells them apart."""

import random
from itertools import cycle

import pytest

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import WORDS, row, series

ID = "diverse-without-progress"


def varied(rng: random.Random) -> str:
    layout = rng.choice(("{}", "## Plan\n\n{}", "1. {}\n2. done", "```\n{}\n```", "- {}\n- so"))
    return layout.format(" ".join(rng.choices(WORDS, k=rng.randint(4, 90))))


def test_a_reward_that_tells_nothing_apart_is_found() -> None:
    found = row(audit(series(lambda rng, t: Sample(completion=varied(rng), reward=rng.gauss(0.2, 0.01)))), ID).finding
    assert found is not None
    assert found.numbers["strategies"] > 4


@pytest.mark.parametrize(("samples", "status"), [("aabbccd", Status.FOUND), ("aaabbcc", Status.OK)])
def test_between_three_and_four_strategies_of_a_few_samples_are_many(samples: str, status: Status) -> None:
    forms = {"a": "plain", "b": "## Plan\n\nplain", "c": "```\nplain\n```", "d": "- plain\n- so"}
    turns = cycle(samples)
    made = series(lambda rng, t: Sample(completion=forms[next(turns)], reward=rng.gauss(0.2, 0.01)), each=7)
    assert row(audit(made), ID).status is status


def test_a_reward_that_rises_is_left_alone() -> None:
    rising = audit(series(lambda rng, t: Sample(completion=varied(rng), reward=rng.gauss(0.2 + t, 0.01))))
    assert row(rising, ID).status is Status.OK


def test_a_reward_that_tells_strategies_apart_is_left_alone() -> None:
    def told(rng: random.Random, t: float) -> Sample:
        text = varied(rng)
        return Sample(completion=text, reward=0.2 + 0.05 * ("```" in text))

    assert row(audit(series(told)), ID).status is Status.OK


def test_few_steps_are_not_measured() -> None:
    few = audit(series(lambda rng, t: Sample(completion=varied(rng), reward=0.2), steps=5))
    assert row(few, ID).status is Status.NOT_MEASURED
