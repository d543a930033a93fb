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


def test_a_gradient_that_was_never_a_number_beside_a_loss_that_is_tells_nothing() -> None:
    assert silent(ID, run({"policy.loss": [0.1], "grad.norm": [NAN]}))


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
    assert silent(ID, run({"loss.total": [0.7] * 4, "grad.norm": [np.nan] * 4}))


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
