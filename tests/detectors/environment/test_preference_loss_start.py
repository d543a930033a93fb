"""preference-loss-start: the first loss of DPO against ln 2."""

import math

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "preference-loss-start"


def dpo(first: float, *, loss_type: object = "sigmoid", algorithm: str = "dpo", **config: object) -> Run:
    loss = first * np.exp(-np.arange(50) / 30) + noise(50, 0.01)
    loss[0] = first
    return run({"loss.total": loss}, algorithm=algorithm, config={"loss_type": loss_type, **config})


def test_healthy_dpo_starts_at_ln_2() -> None:
    assert silent(ID, dpo(math.log(2)))


@pytest.mark.parametrize("precision", [0.66, 0.72])
def test_half_precision_does_not_matter(precision: float) -> None:
    assert silent(ID, dpo(precision))


def test_a_collator_that_packs_wrongly_stops_the_run() -> None:
    finding = found(ID, dpo(4.16), Severity.CRITICAL)
    assert "4.16" in finding.message
    assert "6 times" in finding.message
    assert finding.onset == 1


def test_a_loss_that_is_too_low_before_any_update_is_wrong_too() -> None:
    assert found(ID, dpo(0.2)).severity is Severity.CRITICAL


def test_a_small_departure_is_a_warning() -> None:
    assert found(ID, dpo(0.95)).severity is Severity.WARNING


def test_an_unknown_loss_type_is_no_reason_to_stop() -> None:
    assert found(ID, dpo(4.16, loss_type=None)).severity is Severity.WARNING


def test_a_first_point_that_is_a_mean_over_updates_may_be_low_but_not_high() -> None:
    late = [10, 20, 30, 40]
    low = run({"loss.total": [0.45, 0.4, 0.3, 0.2]}, algorithm="dpo")
    high = run({"loss.total": [1.4, 1.1, 0.8, 0.7]}, algorithm="dpo")
    for made in (low, high):
        made.series["loss.total"].steps[:] = late
    assert silent(ID, low)
    assert found(ID, high).onset == 10


@pytest.mark.parametrize("loss_type", ["ipo", "hinge", ["sigmoid", "sft"]])
def test_other_losses_start_elsewhere(loss_type: object) -> None:
    assert look(ID, dpo(2.0, loss_type=loss_type)).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("algorithm", ["kto", "orpo", "grpo", "ppo"])
def test_other_algorithms_start_elsewhere(algorithm: str) -> None:
    assert look(ID, dpo(2.0, algorithm=algorithm)).status is Status.NOT_APPLICABLE


def test_an_added_likelihood_term_moves_the_start() -> None:
    made = run({"loss.total": [1.9] * 10, "pref.nll": [1.2] * 10}, algorithm="dpo")
    assert look(ID, made).status is Status.NOT_APPLICABLE


def test_no_loss_is_not_a_good_loss() -> None:
    for loss in ([], [math.nan] * 5):
        assert look(ID, run({"loss.total": loss}, algorithm="dpo")).status is Status.NOT_MEASURED


@pytest.mark.parametrize("place", ["", "eval."])
def test_rewards_that_start_at_0_show_that_the_loss_carries_another_term(place: str) -> None:
    rewards = {f"{place}pref.reward.chosen": [0.003, 0.1], f"{place}pref.reward.rejected": [-0.01, 0.05]}
    assert look(ID, run({"loss.total": [2.6, 2.5], **rewards}, algorithm="dpo")).status is Status.NOT_APPLICABLE


def test_rewards_that_do_not_start_at_0_excuse_nothing() -> None:
    rewards = {"pref.reward.chosen": [0.9, 1.0], "pref.reward.rejected": [-0.7, -0.9]}
    assert found(ID, run({"loss.total": [2.6, 2.5], **rewards}, algorithm="dpo"))


def test_a_summed_loss_is_told_though_the_rewards_start_at_0() -> None:
    rewards = {"pref.reward.chosen": [0.0, 0.1], "pref.reward.rejected": [0.0, 0.05]}
    assert "4 times" in found(ID, run({"loss.total": [4 * math.log(2), 2.5], **rewards}, algorithm="dpo")).message


def test_a_method_without_a_reference_does_not_start_at_ln_2() -> None:
    logp = np.linspace(-2.8, -1.2, 10)
    made = run({"loss.total": [5.0] * 10, "pref.logp.chosen": logp, "pref.reward.chosen": 0.1 * logp}, algorithm="dpo")
    assert look(ID, made).status is Status.NOT_APPLICABLE


def test_an_excerpt_from_the_middle_holds_no_first_loss() -> None:
    excerpt = run({"loss.total": [1.4, 1.1, 0.8, 0.7]}, algorithm="dpo")
    excerpt.series["loss.total"].steps[:] = [110, 120, 130, 140]
    assert "middle" in look(ID, excerpt).note
