"""gradient-clipped-away: a limit with an exponent too many."""

from firstbreak.model import Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "gradient-clipped-away"
NORMS = {"grad.norm": 0.6 + noise(50, 0.1)}


def test_a_limit_of_nothing_is_found_and_named() -> None:
    finding = found(ID, run(NORMS, config={"grad_clip": 1e-7}))
    assert finding.onset == 1
    assert "1e-07" in finding.message


def test_usual_limits_and_small_gradients_are_healthy() -> None:
    assert silent(ID, run(NORMS, config={"grad_clip": 0.1}))
    assert silent(ID, run(NORMS, config={"grad_clip": 0.0}))
    assert silent(ID, run({"grad.norm": 1e-6 + noise(50, 1e-7)}, config={"grad_clip": 1e-6}))


def test_without_a_limit_it_is_not_measured() -> None:
    assert look(ID, run(NORMS)).status is Status.NOT_MEASURED
