"""format-hacking: the format is rewarded where the answer is wrong."""

import random
from collections.abc import Callable

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import dump, honest, plain, row, series
from tests.there import there

ID = "format-hacking"


def policy(form: Callable[[float], float], skill: Callable[[float], float]) -> Callable[..., Sample]:
    """Right format and right answer, each with its own probability at t."""

    def write(rng: random.Random, t: float) -> Sample:
        formed, right = rng.random() < form(t), rng.random() < skill(t)
        text = f"{'<answer>' if formed else ''}{plain(rng, t, int(right))}"
        rewards = {"format": float(formed), "accuracy": float(right)}
        return Sample(completion=text, reward=sum(rewards.values()), rewards=rewards)

    return write


def test_a_format_without_the_answer_is_found() -> None:
    found = there(row(audit(series(policy(lambda t: 0.2 + 0.8 * t, lambda t: 0.5 - 0.4 * t))), ID).finding)
    assert found.interval is not None


def test_a_format_that_is_learned_before_the_answers_is_left_alone() -> None:
    learns = policy(lambda t: 1.0, lambda t: 0.1 + 0.8 * t)
    assert row(audit(series(learns)), ID).status is Status.OK


def test_without_a_component_for_the_format_it_is_not_measured() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.NOT_MEASURED
