"""What rules a cause out, or makes it unlikely, whatever the curves look like."""

import numpy as np
import pytest

from firstbreak.engine.common_settings import weights
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.registry import causes
from tests.make import learning, noise, run

ROSE = learning(60)


@pytest.mark.parametrize(("trainer", "possible"), [("sb3", False), ("rsl_rl", False), ("verl", True), (None, True)])
def test_weights_are_delivered_where_there_is_a_second_copy(trainer: str | None, possible: bool) -> None:
    inputs = Inputs(run({"reward.mean": ROSE}, trainer=trainer, algorithm="ppo"))
    assert causes()["weights-not-delivered"].applies(inputs) is possible


@pytest.mark.parametrize("cause", ["reward-sign-wrong", "advantage-sign-wrong"])
@pytest.mark.parametrize(("kept", "spoken_against"), [(0.75, True), (-0.5, False)])
def test_a_wrong_sign_does_not_stop_half_way(cause: str, kept: float, spoken_against: bool) -> None:
    score = np.concatenate([ROSE, np.full(60, kept) + noise(60, 0.02)])
    weights = causes()[cause].weights(Inputs(run({"reward.mean": score})))
    assert any(w.weight < 0 for w in weights) is spoken_against


RISES = np.linspace(0, 1, 200)
LOST = np.concatenate([np.linspace(0, 1, 120), np.linspace(1, -0.2, 80)])
WON_AGAIN = np.concatenate([np.linspace(0, 1, 80), np.zeros(20), np.linspace(0, 1, 100)])
DENTED = np.concatenate([np.linspace(0, 1, 80), np.full(20, 0.6), np.linspace(0.6, 1.2, 100)])


@pytest.mark.parametrize(("reward", "against"), [(RISES, False), (DENTED, False), (LOST, True), (WON_AGAIN, True)])
def test_a_reward_that_was_lost_speaks_against_an_exploited_one(reward: np.ndarray, against: bool) -> None:
    weights = causes()["verifier-exploited"].weights(Inputs(run({"reward.mean": reward + noise(200, 0.03)})))
    assert [w.weight < 0 for w in weights] == [True] * against


def test_what_is_over_optimised_rises() -> None:
    fallen = np.concatenate([ROSE, np.full(60, 0.1) + noise(60, 0.02)])
    cause = causes()["reward-over-optimised"]
    assert any(w.weight < 0 for w in cause.weights(Inputs(run({"reward.mean": fallen}))))
    paid = {"reward.mean": learning(120), "eval.reward": fallen}
    assert not any(w.weight < 0 for w in cause.weights(Inputs(run(paid))))


def test_advantages_that_are_spread_out_speak_against_equal_groups() -> None:
    cause = causes()["groups-carry-no-signal"]
    score = {"reward.mean": noise(40)}
    assert any(w.weight < 0 for w in cause.weights(Inputs(run({**score, "advantage.std": [0.93] * 40}))))
    assert not cause.weights(Inputs(run({**score, "advantage.std": [0.0, 0.9] * 20})))


def test_a_few_cut_completions_do_not_silence_most_groups() -> None:
    cause = causes()["length-limit-too-short"]
    silent = {"reward.zero_std_frac": [0.93] * 40}
    assert any(w.weight < 0 for w in cause.weights(Inputs(run({**silent, "length.clipped_ratio": [0.2] * 40}))))
    assert not cause.weights(Inputs(run({**silent, "length.clipped_ratio": [0.9] * 40})))


@pytest.mark.parametrize(
    "cause", ["evaluation-protocol-changed", "evaluation-too-small", "evaluation-of-stale-weights"]
)
def test_an_evaluation_that_there_is_not_did_not_break(cause: str) -> None:
    assert not causes()[cause].applies(Inputs(run({"reward.mean": ROSE})))
    assert causes()[cause].applies(Inputs(run({"reward.mean": ROSE, "eval.reward": ROSE})))


def test_a_first_gradient_that_is_out_of_range_was_not_made_by_large_steps() -> None:
    cause = causes()["gradients-explode"]
    assert cause.weights(Inputs(run({"grad.norm": [3e9, 2e9], "length.mean": [900.0, 950.0]})))
    assert not cause.weights(Inputs(run({"grad.norm": [30.0, 2e9], "length.mean": [900.0, 950.0]})))


@pytest.mark.parametrize(("rate", "spoken_for"), [(0.05, True), (3e-4, False)])
def test_a_learning_rate_that_nobody_uses_speaks_for_too_large_steps(rate: float, spoken_for: bool) -> None:
    cause = causes()["step-size-too-large"]
    logged = Inputs(run({"reward.mean": noise(40), "lr": [rate] * 40}, algorithm="ppo"))
    recorded = Inputs(run({"reward.mean": noise(40)}, algorithm="ppo", config={"learning_rate": rate}))
    assert [any(w.weight > 0 for w in weights(cause.settings, inputs)) for inputs in (logged, recorded)] == [
        spoken_for
    ] * 2
