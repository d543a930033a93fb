"""train-inference-mismatch: two engines that disagree about the same tokens."""

from typing import Any

import numpy as np
import pytest

from firstbreak.engine.detection import check
from firstbreak.model import Confidence, Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "train-inference-mismatch"
N = 60


WOBBLE = np.exp(noise(100, 0.15))


def grpo(**curves: Any) -> Run:
    flat = {"reward.mean": 0.3 + noise(N, 0.05)}
    return run(flat | {name.replace("__", "."): values for name, values in curves.items()}, algorithm="grpo")


def level(value: float, perfect: float = 0.0) -> np.ndarray:
    return perfect + np.abs(value * (1 + noise(N, 0.1)))


@pytest.mark.parametrize(
    ("signal", "fine", "wrong", "broken"),
    [
        ("rollout_train.kl", 0.0008, 0.03, 0.3),
        ("rollout_train.logp_absdiff.mean", 0.02, 0.2, 0.9),
        ("rollout_train.prob_absdiff.mean", 0.003, 0.02, 0.1),
        ("rollout_train.js", 0.0005, 0.01, 0.1),
    ],
)
def test_each_distance_has_its_levels(signal: str, fine: float, wrong: float, broken: float) -> None:
    name = signal.replace(".", "__")
    assert silent(ID, grpo(**{name: level(fine)}))
    assert found(ID, grpo(**{name: level(wrong)})).severity is Severity.WARNING
    assert found(ID, grpo(**{name: level(broken)})).severity is Severity.CRITICAL


def test_a_multiplicative_error_is_perfect_at_1() -> None:
    assert silent(ID, grpo(rollout_train__mult_prob_error=level(0.01, perfect=1)))
    assert found(ID, grpo(rollout_train__mult_prob_error=level(0.2, perfect=1))).severity is Severity.WARNING


def test_different_inputs_to_the_two_engines_stop_the_run() -> None:
    finding = found(ID, grpo(rollout_train__prob_pearson=0.13 + noise(N, 0.02), rollout_train__kl=level(0.5)))
    assert finding.severity is Severity.CRITICAL
    assert finding.confidence is Confidence.HIGH


def test_a_low_correlation_beside_a_fine_divergence_is_doubted() -> None:
    finding = found(ID, grpo(rollout_train__prob_pearson=0.8 + noise(N, 0.02), rollout_train__kl=level(0.0005)))
    assert finding.severity is Severity.NOTICE
    assert "temperature" in finding.message


def test_a_mismatch_with_a_score_that_rises_is_a_notice() -> None:
    made = run({"reward.mean": learning(N), "rollout_train.kl": level(0.03)}, algorithm="grpo")
    assert found(ID, made).severity is Severity.NOTICE


def test_a_signed_estimator_may_be_negative() -> None:
    assert silent(ID, grpo(rollout_train__kl=noise(N, 0.002)))
    assert found(ID, grpo(rollout_train__kl=-0.05 + noise(N, 0.002))).metric == "rollout_train.kl"


def test_one_process_has_no_second_engine() -> None:
    for algorithm in ("ppo", "dqn", "dpo"):
        assert look(ID, run({"reward.mean": noise(N)}, algorithm=algorithm)).status is Status.NOT_APPLICABLE


def test_text_without_a_measured_distance_is_not_measured() -> None:
    assert look(ID, grpo()).status is Status.NOT_MEASURED
    for values in ([0.5], [0.5, 0.5], [np.nan] * 10):
        assert look(ID, run({"rollout_train.kl": values}, algorithm="grpo")).status is Status.NOT_MEASURED


def test_the_level_of_each_distance_is_a_threshold() -> None:
    looser = {ID: {"kl_warning": 0.2, "kl_critical": 2.0}}
    (outcome,) = check(grpo(rollout_train__kl=level(0.03)), only=[ID], thresholds=looser)
    assert outcome.status is Status.OK


def test_a_first_clip_fraction_and_a_first_ratio_have_their_own_levels() -> None:
    apart = {"policy.clip_fraction@first_minibatch": level(0.007), "policy.ratio.absdev@first_minibatch": level(0.007)}
    for name, curve in apart.items():
        outcome = look(ID, run({name: curve, "reward.mean": 0.3 + noise(N, 0.05)}, algorithm="grpo"))
        assert outcome.status is (Status.FOUND if "clip" in name else Status.OK)


def test_weights_that_stop_arriving_are_found_early() -> None:
    drift = np.where(np.arange(100) < 40, 0.015, 0.015 + 0.003 * (np.arange(100) - 40)) * WOBBLE
    finding = found(ID, grpo(rollout_train__logp_absdiff__mean=drift), Severity.CRITICAL)
    assert finding.interval is not None
    assert finding.interval[0] <= 50
    assert finding.onset is not None
    assert finding.onset >= 30


def test_a_cache_that_survives_the_update_jumps_far_below_the_level_that_matters() -> None:
    jump = np.where(np.arange(100) < 50, 0.001, 0.006) * WOBBLE
    assert found(ID, grpo(rollout_train__kl=jump), Severity.WARNING).onset == pytest.approx(51, abs=3)
    assert found(ID, grpo(rollout_train__prob_pearson=1 - np.geomspace(0.002, 0.1, 100) * WOBBLE))


def test_no_growth_is_found_in_constant_numerics_nothing_or_one_spike() -> None:
    spike = 0.02 * WOBBLE
    assert silent(ID, grpo(rollout_train__logp_absdiff__mean=spike))
    spike[90] = 2.0
    assert silent(ID, grpo(rollout_train__logp_absdiff__mean=spike))
    assert silent(ID, grpo(rollout_train__kl=1e-6 * np.linspace(1, 50, 100) * WOBBLE))
    assert silent(ID, grpo(rollout_train__kl=[0.0] * 30))


@pytest.mark.parametrize(("apart", "says"), [(0.4, True), (0.0, False)])
def test_the_mean_log_probabilities_of_both_engines_are_those_of_the_same_tokens(apart: float, says: bool) -> None:
    sampled = -0.6 + noise(N, 0.1)
    trained = sampled - apart + noise(N, 0.002, 1)
    made = grpo(policy__logp__rollout=sampled, policy__logp__old=trained)
    assert (look(ID, made).finding is not None) == says
