"""pseudo-success: the text claims success, the recorded outcome is a failure."""

import random
from collections.abc import Callable

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import dump, plain, row, series
from tests.there import there

ID = "pseudo-success"


def agent(success_rate: Callable[[float], float], claims: Callable[[float], float]) -> Callable[..., Sample]:
    def act(rng: random.Random, t: float) -> Sample:
        success = rng.random() < success_rate(t)
        done = success or rng.random() < claims(t)
        return Sample(completion="All is done." if done else "I could not.", reward=1.0, meta={"success": success})

    return act


def test_claims_without_the_state_are_found() -> None:
    found = there(row(audit(series(agent(lambda t: 0.6 - 0.5 * t, lambda t: t))), ID).finding)
    assert found.interval is not None


def test_claims_that_become_true_are_left_alone() -> None:
    learns = agent(lambda t: 0.1 + 0.8 * t, lambda t: 0.5)
    assert row(audit(series(learns)), ID).status is Status.OK


def test_without_an_outcome_it_is_not_measured() -> None:
    no_outcome = audit(dump(plain, lambda text, right: {"judge": 1.0}, reference=False))
    assert row(no_outcome, ID).status is Status.NOT_MEASURED
