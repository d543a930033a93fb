"""members-apart: the mean hides the ones that fell."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "members-apart"
FALLEN = np.concatenate([learning(60), np.full(60, 0.2)]) + noise(120, 0.02)


def test_the_members_that_fell_are_named() -> None:
    made = run(
        {"eval.reward@seed=0": learning(120), "eval.reward@seed=1": FALLEN, "eval.reward@seed=2": learning(120, seed=1)}
    )
    finding = found(ID, made)
    assert "1 of 3 members" in finding.message
    assert "seed=1 from" in finding.message
    assert finding.severity is Severity.WARNING
    assert 50 <= finding.onset <= 70


def test_members_that_all_hold_are_healthy() -> None:
    assert silent(ID, run({f"eval.reward@seed={i}": learning(120, seed=i) for i in range(5)}))


def test_one_curve_has_no_members() -> None:
    assert look(ID, run({"eval.reward": FALLEN})).status is Status.NOT_MEASURED
