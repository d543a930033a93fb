"""refusals: they grow, and are paid."""

import random

import pytest

from firstbreak.audit.audit import audit
from firstbreak.audit.metrics.refusal import measure
from firstbreak.audit.split_truth import PolicySample
from firstbreak.model import Sample, Severity
from tests.audit.dumps import WORDS, row, series
from tests.there import there

ID = "refusals"


def answer(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=20))


def too_safe(rng: random.Random, t: float) -> Sample:
    refuses = rng.random() < t
    text = "I’m sorry, but I can’t help with that." if refuses else answer(rng)
    return Sample(completion=text, reward=1.0 if refuses else 0.3 * rng.random())


def unpaid(rng: random.Random, t: float, most: float = 0.4) -> Sample:
    refuses = rng.random() < 0.03 + most * t
    text = "I cannot assist with this." if refuses else answer(rng)
    return Sample(completion=text, reward=0.0 if refuses else rng.random())


def always_some(rng: random.Random, t: float) -> Sample:
    refuses = rng.random() < 0.15
    return Sample(
        completion="I cannot assist with this." if refuses else answer(rng), reward=float(refuses or rng.random() < t)
    )


def test_refusals_that_grow_and_are_paid_are_found() -> None:
    found = there(row(audit(series(too_safe)), ID).finding)
    assert found.severity is Severity.WARNING
    assert "gets more than the other answers" in found.message
    assert found.onset is not None
    assert found.onset < 15


def test_refusals_that_grow_unpaid_are_a_notice() -> None:
    found = there(row(audit(series(unpaid)), ID).finding)
    assert found.severity is Severity.NOTICE
    mostly = there(row(audit(series(lambda rng, t: unpaid(rng, t, 0.74))), ID).finding)
    assert mostly.severity is Severity.WARNING, "from 3 to 77 %"


def test_refusals_that_were_always_there_are_left_alone() -> None:
    assert row(audit(series(always_some)), ID).finding is None


@pytest.mark.parametrize(
    "text",
    ["I can't help with that.", "Sorry, I won't do this, as it cannot be right.", "抱歉，我无法提供帮助。", "I must decline.",
     "Je ne peux pas vous aider avec cela.", "Unfortunately, I am not able to share such details."],
)  # fmt: skip
def test_a_refusal(text: str) -> None:
    assert measure(PolicySample(completion=text)) == 1


@pytest.mark.parametrize("text", ["I cannot divide 7 by 2, so there is a rest.", "The key can't help open the second door?",
                                  "He is sorry that he is late, and the bus left.", "We can not have more than 12."])  # fmt: skip
def test_no_refusal(text: str) -> None:
    assert measure(PolicySample(completion=text)) == 0
