"""kl-reward: the five cells of the matrix."""

from dataclasses import replace

import numpy as np

from firstbreak.model import Confidence, Run, Severity
from tests.detectors.look import expected, found, silent
from tests.make import learning, noise, run, series

ID = "kl-reward"
KL_UP = np.linspace(0.01, 0.6, 200) * (1 + noise(200, 0.1))
KL_STILL = 0.1 + np.abs(noise(200, 0.01))
FLAT = noise(200, 0.1, 1)
FALLING = np.concatenate([learning(100), np.linspace(1, 0.2, 100)]) + noise(200, 0.03, 2)


def test_rising_and_rising_is_learning() -> None:
    assert silent(ID, run({"kl.ref": KL_UP, "reward.mean": np.linspace(0, 1, 200) + noise(200, 0.05, 3)}))


def test_rising_and_flat_has_run_its_course() -> None:
    assert found(ID, run({"kl.ref": KL_UP, "reward.mean": FLAT}), Severity.WARNING).numbers["cell"] == "rising/flat"


def test_rising_and_declining_is_destructive() -> None:
    assert 80 <= found(ID, run({"kl.ref": KL_UP, "reward.mean": FALLING}), Severity.CRITICAL).onset <= 130


def test_still_and_rising_is_ideal() -> None:
    assert silent(ID, run({"kl.ref": KL_STILL, "reward.mean": learning()}))


def test_still_and_flat_is_convergence() -> None:
    assert silent(ID, run({"kl.ref": KL_STILL, "reward.mean": FLAT}))


def test_a_divergence_of_nothing_is_no_distance() -> None:
    assert silent(ID, run({"kl.ref": KL_UP / 1000, "reward.mean": FLAT}))


def test_a_divergence_of_zero_with_no_penalty_is_expected() -> None:
    note = expected(ID, run({"kl.ref": [0.0] * 50, "reward.mean": learning(50)}, config={"kl_coef": 0.0}))
    assert "switched off" in note


def test_a_gain_counts_where_the_divergence_grew() -> None:
    rewarded = np.concatenate([np.zeros(50), np.linspace(0, 1, 50), np.ones(100)]) + noise(200, 0.05, 4)
    assert silent(ID, run({"kl.ref": KL_UP, "reward.mean": rewarded}))


def test_a_slow_gain_over_the_whole_run_counts() -> None:
    slow = np.linspace(0.6, 0.66, 80) + noise(80, 0.05, 1)
    assert silent(ID, run({"kl.ref": np.linspace(0.01, 0.6, 80), "reward.mean": slow}))


def test_few_evaluations_are_enough_where_the_reward_of_every_step_agrees() -> None:
    kl = np.concatenate([np.full(100, 0.02), np.linspace(0.02, 0.1, 100)]) * (1 + noise(200, 0.05))
    stops = np.minimum(np.linspace(0, 2, 200), 0.5) + noise(200, 0.03, 1)
    at = np.arange(0, 200, 20)
    evaluation = {"eval.accuracy": series("eval.accuracy", stops[at] + noise(10, 0.01, 2), at)}

    def evaluated(reward: np.ndarray) -> Run:
        trained = run({"kl.ref": kl, "reward.mean": reward})
        return replace(trained, series={**trained.series, **evaluation})

    assert found(ID, evaluated(stops)).numbers["cell"] == "rising/flat"
    assert silent(ID, evaluated(np.linspace(0, 1, 200) + noise(200, 0.03, 1)))


def test_a_divergence_that_is_logged_as_a_sum_over_the_completion_counts_per_token() -> None:
    drifting = 0.4 * np.linspace(0.05, 1, 120) * np.exp(noise(120, 0.05))
    flat = {"reward.mean": 0.5 + noise(120, 0.02), "length.mean": np.full(120, 250.0)}
    assert found(ID, run(flat | {"kl.ref.seq_sum": 250 * drifting})).severity is Severity.WARNING
    assert silent(ID, run(flat | {"kl.ref.seq_sum": drifting}))  # 0.4 nats over 250 tokens


def test_a_divergence_that_levels_off_counts_where_the_noise_hides_no_gain() -> None:
    at = np.linspace(0, 1, 60)
    kl = 0.04 * (1 - np.exp(-at / 0.6)) * np.exp(noise(60, 0.05))
    score = 0.25 + 0.3 * (1 - np.exp(-at / 0.3))
    assert silent(ID, run({"kl.ref": kl, "reward.mean": score + noise(60, 0.08, 2)}))
    stopped = 0.25 + 0.3 * np.minimum(at / 0.3, 1)
    assert found(ID, run({"kl.ref": kl, "reward.mean": stopped + noise(60, 0.01, 2)})).numbers["cell"] == "rising/flat"


def test_a_divergence_that_grows_ever_faster_is_a_sign_whatever_the_score_does() -> None:
    kl = 0.04 * np.where(np.arange(200) < 100, 1.0, 100 ** ((np.arange(200) - 100) / 100)) * np.exp(noise(200, 0.05))
    finding = found(ID, run({"kl.ref": kl, "reward.mean": np.linspace(0.2, 0.7, 200) + noise(200, 0.02)}))
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.HIGH)
