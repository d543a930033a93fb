"""non-finite-values: NaN and infinities of an update."""

import math

import numpy as np
import pytest

from firstbreak.model import Confidence, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "non-finite-values"
N = 100
NAN, INF = math.nan, math.inf


def broken(at: list[int] | slice, value: float = NAN) -> np.ndarray:
    values = 1 + noise(N, 0.1)
    values[at] = value
    return values


@pytest.mark.parametrize("value", [NAN, INF, -INF])
def test_a_loss_that_stays_non_finite_stops_the_run(value: float) -> None:
    finding = found(ID, run({"loss.total": broken(slice(70, None), value)}), Severity.CRITICAL)
    assert finding.onset == 71
    assert finding.interval == (70, 71)


def test_the_first_curve_to_break_is_named() -> None:
    curves = {"loss.total": broken(slice(72, None)), "grad.norm": broken(slice(70, None), INF)}
    finding = found(ID, run(curves))
    assert finding.metric == "grad.norm"
    assert "loss.total" in finding.message


def test_one_bad_batch_that_recovers_is_a_warning() -> None:
    finding = found(ID, run({"grad.norm": broken([40])}), Severity.WARNING)
    assert finding.onset == 41
    assert "1 of 100" in finding.message


def test_a_lasting_break_counts_more_than_an_earlier_accident() -> None:
    values = broken(slice(90, None))
    values[10] = NAN
    assert found(ID, run({"policy.loss": values}), Severity.CRITICAL).onset == 91


def test_a_loss_that_was_never_a_number_stops_the_run() -> None:
    assert found(ID, run({"loss.total": [NAN] * 20})).severity is Severity.CRITICAL


def test_finite_numbers_are_healthy() -> None:
    assert silent(ID, run({"loss.total": 1 + noise(N), "grad.norm": np.abs(noise(N))}))


@pytest.mark.parametrize(
    "curves",
    [
        {"loss.total": broken(slice(0, 30))},  # not there before the first update
        {"value.explained_variance": broken([5, 50, 90]), "loss.total": 1 + noise(N)},  # undefined for equal returns
        {"reward.mean": broken([0, 1, 2, 30]), "loss.total": 1 + noise(N)},  # no episode has ended
        {"length.terminated_mean": broken(slice(20, None)), "loss.total": 1 + noise(N)},  # none ended by itself
        {"loss.total": np.where(np.arange(N) % 10 == 9, NAN, 1.0)},  # rows of evaluations
        {"loss.total": np.where(np.arange(N) % 5 == 0, 1.0, NAN)},  # logged every fifth row
    ],
    ids=["leading", "explained-variance", "episodes", "terminated", "padding", "sparse"],
)
def test_what_is_undefined_is_no_break(curves: dict[str, object]) -> None:
    assert silent(ID, run(curves))


def test_a_gradient_norm_that_was_never_a_number_is_looked_at() -> None:
    finding = found(ID, run({"grad.norm": [NAN] * N, "loss.total": 1 + noise(N)}), Severity.WARNING, Confidence.LOW)
    assert "no number in any of its 100 rows" in finding.message


def test_the_last_row_alone_may_be_a_summary() -> None:
    assert found(ID, run({"loss.total": broken([N - 1])})).severity is Severity.WARNING


@pytest.mark.parametrize("values", [[1.0], [1.0, 2.0], [NAN], [NAN, NAN]])
def test_short_curves_are_looked_at(values: list[float]) -> None:
    assert silent(ID, run({"loss.total": values}))


def test_without_an_update_there_is_nothing_to_look_at() -> None:
    assert look(ID, run({"reward.mean": [NAN] * 9})).status is Status.NOT_MEASURED


def test_one_line_of_a_log_whose_loss_and_gradient_are_nan_stops_the_run() -> None:
    finding = found(ID, run({"policy.loss": [NAN], "grad.norm": [NAN], "kl.ref": [NAN], "reward.mean": [0.0]}))
    assert finding.severity is Severity.CRITICAL
    assert "kl.ref" in finding.message


def test_an_infinite_reward_is_seen_where_the_trainer_hides_its_loss() -> None:
    finding = found(ID, run({"reward.mean": broken(slice(60, None), INF), "loss.total": broken([])}))
    assert (finding.metric, finding.onset) == ("reward.mean", 61)
    assert silent(ID, run({"reward.mean": broken([3, 50, 51], NAN), "loss.total": broken([])}))  # no episode ended


def test_a_critic_whose_loss_and_gradient_are_nan_from_the_first_row_is_broken() -> None:
    curves = {"value.loss": [NAN], "value.grad_norm": [NAN], "grad.norm": [9.8], "policy.loss": [-0.01]}
    assert found(ID, run(curves)).severity is Severity.CRITICAL


def test_a_critic_that_is_not_there_has_no_gradient() -> None:
    assert silent(ID, run({"value.grad_norm": [NAN], "grad.norm": [9.8], "policy.loss": [-0.01]}))


def test_a_loss_that_is_printed_as_zero_because_it_is_nan() -> None:
    assert found(ID, run({"loss.total": [0.0] * 4, "grad.norm": [np.nan] * 4}), Severity.CRITICAL).onset == 1
    norms = found(ID, run({"loss.total": [0.7] * 4, "grad.norm": [np.nan] * 4}), Severity.WARNING)
    assert norms.confidence is Confidence.LOW


def test_an_infinite_loss_is_no_gap_of_a_table() -> None:
    finding = found(ID, run({"loss.total": [2.4e5, np.inf, np.nan]}))
    assert finding.onset == 2
    assert "came back" not in finding.message


ENDED = {"loss.total": broken([-1]), "policy.entropy": broken([-1])}


def test_a_run_that_ends_in_nan_is_lost() -> None:
    assert found(ID, run({**ENDED, "reward.mean": 1 + noise(N)})).severity is Severity.CRITICAL


def test_a_last_row_of_another_kind_and_a_scaler_are_no_end() -> None:
    row = run({**ENDED, "reward.mean": broken([-1]), "eval.accuracy": noise(N)})
    assert found(ID, row).severity is Severity.WARNING
    norms = {"grad.norm": broken([-1]), "value.grad_norm": broken([-1]), "reward.mean": 1 + noise(N)}
    assert found(ID, run(norms)).severity is Severity.WARNING


@pytest.mark.parametrize(
    ("rows", "severity"), [(1, Severity.WARNING), (3, Severity.CRITICAL)], ids=["the last row", "three rows"]
)
@pytest.mark.parametrize("n", [1, 15, 100], ids=["one row before", "few", "many"])
def test_finite_numbers_that_no_update_survives(n: int, rows: int, severity: Severity) -> None:
    curves = {
        "reward.mean": np.r_[39 + noise(n, 1), np.full(rows, -9.5e5)],
        "value.loss": np.r_[0.1 + noise(n, 0.01), np.full(rows, 1e12)],
    }
    finding = found(ID, run(curves), severity)
    assert finding.onset == n + 1
    assert "reward.mean is -950000 (at most" in finding.message
    assert "value.loss is 1000000000000 (at most" in finding.message


def test_a_divergence_and_a_gradient_norm_far_above_all_they_were() -> None:
    curves = {"kl.ref": np.r_[0.9 + noise(N, 0.1), 55], "grad.norm": np.r_[1 + noise(N, 0.1), 1e5]}
    assert found(ID, run(curves), Severity.WARNING).onset == N + 1


def test_one_row_with_a_loss_of_no_size_that_a_loss_has() -> None:
    assert (
        "policy.loss is -46200000000000"
        in found(ID, run({"policy.loss": np.array([-4.62e13])}), Severity.WARNING).message
    )


@pytest.mark.parametrize(
    "curves",
    [
        {
            "reward.mean": np.r_[np.zeros(50), np.full(50, 5e4)],
            "value.loss": np.r_[np.full(50, 1e-3), np.full(50, 1e8)],
        },
        {
            "grad.norm": np.r_[np.full(50, 0.1), np.full(50, 1e4)],
            "value.loss": np.r_[np.full(50, 1.0), np.full(50, 1e8)],
        },
        {"grad.norm": np.r_[np.ones(99), 1e5], "reward.mean": np.full(100, 0.8)},
        {"kl.ref": np.r_[0.9 + noise(N, 0.1), 55, 0.9], "grad.norm": np.r_[1 + noise(N, 0.1), 1e5, 1]},
        {"kl.old.k1": np.r_[1e-9, np.full(99, 0.02)], "grad.norm": np.r_[1e-3, np.full(99, 0.5)]},
    ],
    ids=["a first success", "a first large return", "one norm", "it came back", "a first row near 0"],
)
def test_large_numbers_that_learning_or_one_batch_explains(curves: dict[str, np.ndarray]) -> None:
    assert silent(ID, run(curves))


def test_a_gradient_norm_of_one_row_that_is_no_number() -> None:
    curves = {"policy.loss": np.array([0.1]), "grad.norm": np.array([NAN]), "reward.mean": np.array([0.5])}
    assert "holds no number in its one row" in found(ID, run(curves), Severity.WARNING).message
    assert silent(ID, run({"grad.norm": np.array([NAN])}))


def test_a_gradient_that_is_no_number_where_the_learning_rate_stands_still_was_a_skipped_step() -> None:
    norms, taken = broken([1, 17, 60]), np.ones(N)
    taken[[1, 17, 60]] = 0
    curves = {"grad.norm": norms, "lr": 1e-4 * (1 - np.r_[0, np.cumsum(taken)[:-1]] / N)}
    outcome = look(ID, run(curves))
    assert outcome.finding is None
    assert outcome.expected
    assert "skipped" in outcome.note
    found(ID, run({"grad.norm": norms, "lr": np.linspace(1e-4, 0, N)}), Severity.WARNING)
    found(ID, run({"grad.norm": norms, "lr": np.full(N, 1e-4)}), Severity.WARNING)  # a constant rate tells nothing
