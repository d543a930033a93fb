"""samples-identical: a sampler that repeats itself."""

from __future__ import annotations

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import run

ID = "samples-identical"
N = 40
GROUPS = {"group_size": 8}


def test_copies_of_an_uncertain_policy_are_found() -> None:
    curves = {"diversity.unique": np.full(N, 1 / 8), "policy.entropy": np.full(N, 0.5)}
    finding = found(ID, run(curves, algorithm="grpo", config=GROUPS))
    assert finding.severity is Severity.CRITICAL


def test_a_policy_that_is_certain_may_agree() -> None:
    curves = {"diversity.unique": np.full(N, 1 / 8), "policy.entropy": np.full(N, 0.01)}
    assert silent(ID, run(curves, algorithm="grpo", config=GROUPS))


def test_different_answers_are_healthy() -> None:
    curves = {"diversity.unique": np.full(N, 0.6), "policy.entropy": np.full(N, 0.5)}
    assert silent(ID, run(curves, algorithm="grpo", config=GROUPS))
