"""length-inflation: completions that grow beyond twice their length."""

import random

from firstbreak.audit.audit import audit
from firstbreak.model import Outcome, Sample, Severity, Status
from tests.audit.dumps import by_length, dump, honest, longer_and_longer, plain, row, series
from tests.there import there

ID = "length-inflation"


def test_it_is_found_and_is_a_warning_where_length_is_rewarded() -> None:
    found = there(row(audit(dump(longer_and_longer, by_length)), ID).finding)
    assert found.numbers["share"] > 0.9
    assert found.severity is Severity.WARNING
    unrewarded = there(row(audit(dump(longer_and_longer, honest)), ID).finding)
    assert unrewarded.severity is Severity.NOTICE


def test_some_long_answers_among_short_ones_are_left_alone() -> None:
    def long_now_and_then(rng: random.Random, t: float, answer: int) -> str:
        return plain(rng, t, answer) if rng.random() > 0.15 else longer_and_longer(rng, 1.0, answer)

    assert row(audit(dump(long_now_and_then, honest)), ID).status is Status.OK


def test_samples_of_one_step_have_no_beginning() -> None:
    assert row(audit(dump(plain, honest, steps=1)), ID).status is Status.NOT_MEASURED


def test_a_correlation_that_chance_explains_is_not_paid() -> None:
    """The nearer end of the interval counts, so that none of them is called paid."""
    said = [row(audit(dump(longer_and_longer, honest, steps=20, seed=seed)), ID).finding for seed in range(3)]
    assert all(found is not None and found.severity is Severity.NOTICE for found in said)


def test_a_length_that_a_human_score_follows_is_no_inflation() -> None:
    def judged(follows: bool) -> Outcome:
        def sample(rng: random.Random, t: float) -> Sample:
            n = round(rng.randint(20, 40) * (1 + 4 * t))
            gold = (n / 200 if follows else 0.5) + rng.gauss(0, 0.02)
            words = f"{'word ' * n}{rng.random()}"  # one text twice with two rewards would be noise
            return Sample(completion=words, reward=n / 200 + rng.gauss(0, 0.02), meta={"human_score": gold})

        return row(audit(series(sample)), ID)

    assert judged(follows=True).expected
    assert judged(follows=False).finding is not None
