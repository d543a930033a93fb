"""samples-identical: a sampler that repeats itself."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import run

ID = "samples-identical"
N = 40
GROUPS = {"group_size": 8}


def test_copies_of_an_uncertain_policy_are_found() -> None:
    curves = {"diversity.unique": np.full(N, 1 / 8), "policy.entropy": np.full(N, 0.5)}
    found(ID, run(curves, algorithm="grpo", config=GROUPS), Severity.CRITICAL)


def test_a_policy_that_is_certain_may_agree() -> None:
    curves = {"diversity.unique": np.full(N, 1 / 8), "policy.entropy": np.full(N, 0.01)}
    assert silent(ID, run(curves, algorithm="grpo", config=GROUPS))


def test_different_answers_are_healthy() -> None:
    curves = {"diversity.unique": np.full(N, 0.6), "policy.entropy": np.full(N, 0.5)}
    assert silent(ID, run(curves, algorithm="grpo", config=GROUPS))


def test_episodes_without_their_workers_say_nothing() -> None:
    assert look(ID, run({"episode.length": [10.0] * N}, algorithm="ppo")).status is Status.NOT_MEASURED
