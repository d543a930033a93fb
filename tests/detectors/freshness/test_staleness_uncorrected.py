"""staleness-uncorrected: old data by plan, without a correction."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import run

ID = "staleness-uncorrected"
N = 40
AGES = {"staleness.max": np.minimum(8.0, np.arange(N, dtype=float))}


def test_old_data_that_are_taken_for_fresh_are_found() -> None:
    assert found(ID, run(AGES, algorithm="grpo", config={"max_staleness": 8, "use_decoupled_loss": False})).onset == 3


def test_weights_without_a_cap_are_found() -> None:
    assert (
        "cap" in found(ID, run(AGES, algorithm="grpo", config={"max_staleness": 8, "use_decoupled_loss": True})).message
    )


def test_capped_weights_are_healthy() -> None:
    config = {"max_staleness": 8, "use_decoupled_loss": True, "behave_weight_cap": 5.0}
    assert silent(ID, run(AGES, algorithm="grpo", config=config))


def test_an_age_limit_that_is_never_used_is_healthy() -> None:
    fresh = {"staleness.max": np.zeros(N)}
    assert silent(ID, run(fresh, algorithm="grpo", config={"max_staleness": 8, "use_decoupled_loss": False}))


def test_versions_of_the_data_and_of_the_weights_tell_the_age_as_well() -> None:
    config = {"max_staleness": 8, "use_decoupled_loss": False}
    train = np.arange(N, dtype=float)
    late = {"policy_version.train": train, "policy_version.mean": np.maximum(0.0, train - 8)}
    assert found(ID, run(late, algorithm="grpo", config=config)).onset == 3
    assert silent(ID, run({**late, "policy_version.mean": train}, algorithm="grpo", config=config))
