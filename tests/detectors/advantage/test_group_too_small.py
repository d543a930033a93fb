"""group-too-small."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "group-too-small"


def made(size: int, rate: float = 0.18, **more: object) -> object:
    expected = rate**size + (1 - rate) ** size
    curves = {"reward.mean": np.clip(rate + noise(60, 0.02), 0, 1), "reward.zero_std_frac": [expected] * 60, **more}
    return run(curves, config={"group_size": size})


def test_two_completions_of_a_hard_prompt_seldom_differ() -> None:
    finding = found(ID, made(2))
    assert "groups of 8 would leave" in finding.message
    assert finding.severity is Severity.WARNING


def test_eight_are_enough() -> None:
    assert silent(ID, made(8))


def test_a_reward_that_is_no_success_rate_does_not_apply() -> None:
    assert look(ID, made(2, **{"reward.mean": [3.0] * 60})).status is Status.NOT_APPLICABLE


def test_without_the_group_size_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": [0.2] * 60, "reward.zero_std_frac": [0.7] * 60})).status is Status.NOT_MEASURED
