"""step-too-large: the policy moves too far at once."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "step-too-large"
FALLING = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)


def test_a_jump_in_the_divergence_with_a_falling_score_is_critical() -> None:
    kl = np.concatenate([np.full(60, 0.01), np.full(60, 0.5)]) * (1 + noise(120, 0.1, 1))
    assert 55 <= found(ID, run({"kl.old": kl, "reward.mean": FALLING}), Severity.CRITICAL).onset <= 66


def test_large_steps_with_a_score_that_rises_are_only_a_warning() -> None:
    assert (
        found(ID, run({"kl.old": 0.3 + noise(120, 0.02, 1), "reward.mean": learning(120)})).severity is Severity.WARNING
    )


def test_the_target_is_the_measure_where_there_is_one() -> None:
    made = {"kl.old": 0.05 + noise(120, 0.002), "reward.mean": learning(120)}
    assert "times its target of 0.01" in found(ID, run(made, config={"target_kl": 0.01})).message
    assert silent(ID, run(made))


def test_small_steps_are_healthy() -> None:
    assert silent(ID, run({"kl.old": 0.01 + np.abs(noise(120, 0.002)), "reward.mean": learning(120)}))


def test_a_spike_that_recovers_is_healthy() -> None:
    kl = 0.01 + np.abs(noise(120, 0.002))
    kl[60] = 0.5
    assert silent(ID, run({"kl.old": kl, "reward.mean": learning(120)}))


def test_one_update_beyond_all_measure_is_enough_where_the_score_was_lost() -> None:
    kl = 0.01 + np.abs(noise(120, 0.002))
    kl[60:] = 0.0
    kl[60] = 17.9
    assert found(ID, run({"kl.old": kl, "reward.mean": FALLING}), Severity.CRITICAL).onset == 61


def test_a_method_without_epochs_is_not_advised_to_stop_them() -> None:
    made = {"kl.old": 0.3 + noise(120, 0.02, 1), "reward.mean": learning(120)}
    assert "epochs" in found(ID, run(made, algorithm="ppo")).message
    assert "epochs" not in found(ID, run(made, algorithm="sac")).message


@pytest.mark.parametrize("at", [2, 36, 84, 110])
def test_steps_that_become_too_large_are_found_wherever_in_the_run(at: int) -> None:
    kl = np.where(np.arange(120) < at, 0.01, 0.5) * (1 + noise(120, 0.1, 1))
    assert found(ID, run({"kl.old": kl, "reward.mean": learning(120)})).onset == at + 1


def test_steps_that_were_too_large_and_are_small_again_are_healthy() -> None:
    kl = np.where((np.arange(120) > 30) & (np.arange(120) < 70), 0.5, 0.01) * (1 + noise(120, 0.1, 1))
    assert silent(ID, run({"kl.old": kl, "reward.mean": learning(120)}))


def test_updates_that_grow_sixfold_for_good_count_where_the_score_falls_from_there() -> None:
    late = np.arange(120) >= 70
    curves = {"kl.old": 0.002 * np.where(late, 8, 1) * np.exp(noise(120, 0.2, 1))}
    fallen = np.where(late, 0.4, np.arange(120) / 100) + noise(120, 0.03, 2)
    rising = np.arange(120) / 100 + noise(120, 0.03, 2)
    assert abs(found(ID, run(curves | {"reward.mean": fallen}, algorithm="ppo")).onset - 71) <= 2
    assert silent(ID, run(curves | {"reward.mean": rising}, algorithm="ppo"))
    clipped = {"policy.clip_fraction": np.where(late, 0.4, 0.08)}
    assert found(ID, run(curves | clipped | {"reward.mean": rising}, algorithm="ppo")).severity is Severity.WARNING
