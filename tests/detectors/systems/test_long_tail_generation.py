"""long-tail-generation: one completion holds up the batch."""

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "long-tail-generation"
N = 60


def lengths(longest: np.ndarray, rollout: float = 80.0) -> Run:
    curves = {
        "length.mean": 500 + noise(N, 10),
        "length.max": longest + noise(N, 50, seed=1),
        "time.rollout": rollout + noise(N),
        "time.step": np.full(N, 100.0),
    }
    return run(curves, algorithm="grpo")


def test_a_steady_tail_is_a_notice() -> None:
    assert "8" in found(ID, lengths(np.full(N, 4000.0)), Severity.NOTICE).message


def test_a_tail_that_grows_is_a_warning() -> None:
    assert found(ID, lengths(np.where(np.arange(N) < 25, 1200.0, 6000.0)), Severity.WARNING).onset == 26


def test_a_short_tail_is_healthy() -> None:
    assert silent(ID, lengths(np.full(N, 1200.0)))


def test_where_the_update_dominates_the_tail_costs_little() -> None:
    assert silent(ID, lengths(np.full(N, 4000.0), rollout=20.0))


def test_only_text_has_completions() -> None:
    assert look(ID, run({"reward.mean": noise(N)}, algorithm="ppo")).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("n", [0, 1, 2])
def test_a_few_batches_say_nothing(n: int) -> None:
    names = ("length.mean", "length.max", "time.rollout", "time.step")
    assert look(ID, run({name: [9.0] * n for name in names}, algorithm="grpo")).status is Status.NOT_MEASURED
