"""loss-pattern: no direction, a turn, a jump."""

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import expected, found, look, silent
from tests.make import learning, noise, run

ID = "loss-pattern"
FALLING = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)


def test_a_grpo_loss_of_zero_is_expected() -> None:
    note = expected(ID, run({"loss.total": noise(50, 0.001), "reward.mean": learning(50)}, algorithm="grpo"))
    assert "by construction" in note


def test_even_one_grpo_loss_of_zero_is_expected() -> None:
    assert look(ID, run({"loss.total": [0.0], "reward.mean": [1.0]}, algorithm="grpo")).expected


def test_a_loss_that_turns_while_the_score_falls_is_critical() -> None:
    loss = np.concatenate([np.full(60, 0.5), np.full(60, -0.5)]) + noise(120, 0.1, 1)
    assert 55 <= found(ID, run({"policy.loss": loss, "reward.mean": FALLING}), Severity.CRITICAL).onset <= 66


def test_what_changed_at_the_step_of_a_jump_is_told_with_it() -> None:
    late = np.arange(120) >= 60
    loss = 0.2 * np.where(late, 0.5, 1) * (1 + noise(120, 0.15, 1))
    curves = {"policy.loss": loss, "reward.mean": learning(120), "lr": 1e-4 * np.where(late, 0.1, 1)}
    message = found(ID, run(curves)).message
    assert "the learning rate went from 0.0001 to 1e-05" in message
    assert "gradient" not in message
    norms = np.where(late, 6.0, 1.0) * (1 + noise(120, 0.1, 2))
    assert "the gradient norm went from" in found(ID, run(curves | {"grad.norm": norms})).message


def test_a_jump_that_noise_hides_is_seen_where_the_learning_rate_steps() -> None:
    late = np.arange(60) >= 36
    loss = 0.2 * np.where(late, 0.5, 1) * (1 + noise(60, 0.3, 4))
    curves = {"policy.loss": loss, "reward.mean": learning(60)}
    assert silent(ID, run(curves))
    assert found(ID, run(curves | {"lr": np.where(late, 1e-5, 1e-4)})).onset == 37
    assert silent(ID, run(curves | {"lr": 1e-4 * np.linspace(1, 0, 60)}))


def test_a_loss_that_jumps_while_the_score_falls_is_a_warning() -> None:
    loss = np.concatenate([np.full(60, -0.02), np.full(60, -0.4)]) * (1 + noise(120, 0.2, 1))
    assert found(ID, run({"policy.loss": loss, "reward.mean": FALLING})).severity is Severity.WARNING


def test_oscillation_round_zero_with_a_flat_score_is_a_notice() -> None:
    assert (
        found(ID, run({"policy.loss": noise(120, 1, 3), "reward.mean": noise(120, 1, 4)})).severity is Severity.NOTICE
    )


def test_a_turn_under_a_rising_score_is_healthy() -> None:
    loss = np.concatenate([np.full(60, 0.5), np.full(60, -0.5)]) + noise(120, 0.1, 1)
    assert silent(ID, run({"policy.loss": loss, "reward.mean": learning(120)}))


def test_without_a_loss_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": learning(60)})).status is Status.NOT_MEASURED


def test_the_dust_of_a_loss_that_is_zero_is_no_jump() -> None:
    fallen = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03)
    dust = np.where(np.arange(120) < 60, 1e-12, 1e-9) * (1 + noise(120, 0.1))
    assert silent(ID, run({"policy.loss": dust, "reward.mean": fallen}, algorithm="ppo"))


def test_a_method_without_advantages_is_advised_to_check_its_critic() -> None:
    curves = {"policy.loss": noise(120, 1, 3), "reward.mean": noise(120, 1, 4)}
    assert "advantages" in found(ID, run(curves, algorithm="ppo")).message
    assert "critic" in found(ID, run(curves, algorithm="td3")).message


@pytest.mark.parametrize("factor", [2.2, 0.45])
@pytest.mark.parametrize("at", [12, 60, 108])
def test_a_loss_that_is_doubled_or_halved_at_once_is_worth_a_line(at: int, factor: float) -> None:
    loss = -0.2 * np.where(np.arange(120) < at, 1, factor) * (1 + noise(120, 0.1, 1))
    learns = {"reward.mean": learning(120)}
    for score, severity in (({}, "notice"), (learns, "notice"), ({"reward.mean": FALLING}, "warning")):
        finding = found(ID, run({"policy.loss": loss, **score}))
        assert (finding.severity.value, finding.onset) == (severity, at + 1)


def test_below_zero_after_positive_is_a_warning_where_the_score_does_not_rise() -> None:
    loss = np.where(np.arange(120) < 80, 0.5, -0.5) + noise(120, 0.1, 1)
    finding = found(ID, run({"policy.loss": loss, "reward.mean": noise(120)}))
    assert (finding.severity, finding.onset) == (Severity.WARNING, 81)


def test_round_zero_means_round_zero() -> None:
    wandering = 1 + 0.3 * np.sin(np.arange(120) / 19) + noise(120, 0.05)
    assert silent(ID, run({"policy.loss": wandering, "reward.mean": noise(120, 1, 4)}))
    heavy = np.abs(np.random.default_rng(0).standard_cauchy(120))
    finding = look(ID, run({"policy.loss": heavy, "reward.mean": noise(120, 1, 4)})).finding
    assert finding is None or "round zero" not in finding.message


def test_a_group_relative_loss_with_a_level_of_its_own_can_jump() -> None:
    loss = np.where(np.arange(120) < 60, 0.07, 0.035) + noise(120, 0.004)
    assert found(ID, run({"policy.loss": loss, "reward.mean": learning(120)}, algorithm="grpo")).onset == 61


def test_the_noise_of_a_group_relative_loss_round_zero_does_not_jump() -> None:
    loss = noise(120, 1) * np.where(np.arange(120) < 60, 0.01, 0.03)
    assert look(ID, run({"policy.loss": loss, "reward.mean": learning(120)}, algorithm="grpo")).expected
