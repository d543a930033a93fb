"""first-update-not-on-policy: a difference that nothing learned can explain."""

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "first-update-not-on-policy"
N = 40
ONE_STEP = {"updates_per_batch": 1}


def test_another_temperature_in_the_sampler_is_found() -> None:
    made = run({"kl.old": 0.12 + noise(N, 0.01)}, algorithm="grpo", config=ONE_STEP)
    assert found(ID, made, Severity.WARNING).onset == 1


def test_a_drastic_difference_stops_the_run() -> None:
    made = run({"policy.ratio.mean": 3 + noise(N, 0.1)}, algorithm="grpo", config=ONE_STEP)
    assert found(ID, made).severity is Severity.CRITICAL


def test_a_ratio_below_1_is_shown_as_it_is() -> None:
    made = run({"policy.ratio.mean": 0.3 + noise(N, 0.001)}, algorithm="grpo", config=ONE_STEP)
    assert "0.3" in found(ID, made).message


def test_one_step_per_batch_is_healthy_at_0_and_1() -> None:
    curves = {"kl.old": np.abs(noise(N, 1e-4)), "policy.ratio.mean": 1 + noise(N, 1e-4)}
    assert silent(ID, run(curves, algorithm="grpo", config=ONE_STEP))


@pytest.mark.parametrize("algorithm", ["ppo", "grpo"])
def test_several_steps_per_batch_move_the_policy(algorithm: str) -> None:
    curves = {"kl.old": 0.03 + np.abs(noise(N, 0.01)), "policy.ratio.mean": 1 + noise(N, 0.02)}
    assert silent(ID, run(curves, algorithm=algorithm, config={"updates_per_batch": 40}))


def test_a_first_step_without_warm_up_is_forgiven() -> None:
    values = np.abs(0.01 + noise(N, 0.002))
    values[0] = 2.0
    assert silent(ID, run({"kl.old": values}, algorithm="ppo"))


def test_a_replay_buffer_has_no_old_policy() -> None:
    assert look(ID, run({"reward.mean": noise(N)}, algorithm="dqn")).status is Status.NOT_APPLICABLE
