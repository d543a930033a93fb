"""rewards-missing: a break, and not a gap."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Link, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "rewards-missing"
N = 120
STEP = np.arange(N)
BESIDE = {"length.mean": 200 + noise(N, 5), "loss.total": noise(N, 0.01, 3)}


def without_rewards(where: np.ndarray) -> np.ndarray:
    return np.where(where, np.nan, learning(N))


def test_half_of_the_rewards_missing_is_critical_and_counted() -> None:
    finding = found(ID, run({"reward.mean": without_rewards(noise(N) > 0), **BESIDE}, algorithm="grpo"))
    assert finding.severity is Severity.CRITICAL
    assert f"{finding.numbers['missing']} of " in finding.message
    assert 40 < finding.numbers["missing"] < 80


@pytest.mark.parametrize("at", [3, 60, 110])
def test_rewards_that_stay_away_are_found_where_they_end(at: int) -> None:
    finding = found(ID, run({"reward.mean": without_rewards(at <= STEP), **BESIDE}, algorithm="grpo"))
    assert (finding.severity, finding.onset) == (Severity.CRITICAL, at + 1)
    assert f"from step {at + 1} to the end" in finding.message


def test_a_component_without_numbers_is_a_warning() -> None:
    curves = {"reward.mean": learning(N), "reward.component.style.mean": without_rewards(STEP >= 60), **BESIDE}
    finding = found(ID, run(curves, algorithm="grpo"))
    assert (finding.severity, finding.metric) == (Severity.WARNING, "reward.component.style.mean")


def test_a_reward_that_never_had_a_number_is_found() -> None:
    assert found(ID, run({"reward.mean": np.full(N, np.nan), **BESIDE}, algorithm="grpo")).onset == 1


def test_single_failures_are_a_gap() -> None:
    assert silent(ID, run({"reward.mean": without_rewards(STEP % 30 == 7), **BESIDE}, algorithm="grpo"))


def test_rows_of_another_kind_are_not_counted() -> None:
    evaluation = STEP % 2 == 1
    curves = {
        "reward.mean": without_rewards(evaluation),
        "length.mean": np.where(evaluation, np.nan, BESIDE["length.mean"]),
        "eval.accuracy": np.where(evaluation, 0.5 + noise(N, 0.1), np.nan),
        "grad.norm": np.where(evaluation, 1 + noise(N, 0.1), np.nan),
    }
    assert silent(ID, run(curves, algorithm="grpo"))


def test_steps_in_which_no_episode_ended_are_healthy() -> None:
    curves = {"reward.episode": without_rewards((STEP < 10) | (noise(N) > 0.3)), "value.loss": 1 + noise(N, 0.1)}
    assert silent(ID, run(curves, algorithm="ppo"))


def test_an_episode_reward_that_stays_away_is_no_reason_to_stop() -> None:
    curves = {"reward.episode": without_rewards(STEP >= 60), "value.loss": 1 + noise(N, 0.1)}
    assert found(ID, run(curves, algorithm="ppo")).severity is Severity.WARNING


def test_rewards_that_are_missing_after_the_loss_are_a_consequence() -> None:
    curves = {
        **BESIDE,
        "reward.mean": without_rewards(STEP >= 61),
        "loss.total": np.where(STEP >= 60, np.nan, noise(N)),
    }
    assert look(ID, run(curves, algorithm="grpo")).expected


def test_a_reward_that_is_nan_one_row_before_the_loss_is_the_break_of_the_reward() -> None:
    curves = {**BESIDE, "reward.mean": without_rewards(STEP >= 60), "loss.total": np.where(STEP > 60, np.nan, noise(N))}
    first = diagnose(run(curves, algorithm="grpo")).first_break
    assert first is not None
    assert (first.link, first.step) == (Link.REWARD, 61)


def test_without_a_reward_it_is_not_measured() -> None:
    assert look(ID, run(BESIDE, algorithm="grpo")).status is Status.NOT_MEASURED
