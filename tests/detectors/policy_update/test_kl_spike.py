"""kl-spike: thrown, and back again."""

import numpy as np
import pytest

from firstbreak.model import Confidence, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "kl-spike"


def test_a_spike_that_comes_back_is_a_notice() -> None:
    kl = 0.05 + np.abs(noise(100, 0.005))
    kl[40] = 2.5
    assert found(ID, run({"kl.ref": kl}), Severity.NOTICE).onset == 41


def test_one_at_the_very_end_has_not_come_back_yet() -> None:
    kl = 0.05 + np.abs(noise(100, 0.005))
    kl[-1] = 2.5
    assert silent(ID, run({"kl.ref": kl}))


def test_one_before_an_end_as_high_has_not_come_back() -> None:
    kl = 0.05 + np.abs(noise(120, 0.005))
    kl[[104, 118, 119]] = 0.3, 0.2, 0.18
    assert silent(ID, run({"kl.ref": kl}))


def test_a_slow_rise_is_no_spike() -> None:
    assert silent(ID, run({"kl.ref": np.linspace(0, 0.5, 100) + noise(100, 0.01)}))


def test_without_a_divergence_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": noise(60)})).status is Status.NOT_MEASURED


def test_it_is_worth_a_line_and_no_more() -> None:
    kl = 0.05 + np.abs(noise(100, 0.005))
    kl[[10, 30, 50]] = 3.0
    assert found(ID, run({"kl.ref": kl})).severity is not Severity.WARNING


def test_a_spike_of_hundreds_of_nats_is_a_warning_of_little_certainty() -> None:
    kl = 0.05 + np.abs(noise(100, 0.005))
    kl[40] = 900.0
    assert found(ID, run({"kl.ref": kl}), Severity.WARNING, Confidence.LOW).message.startswith("1 spike of kl.ref")


def test_what_is_left_of_rounding_is_no_spike() -> None:
    kl = np.abs(noise(100, 1e-11))
    kl[40] = 1e-9
    assert silent(ID, run({"kl.old": kl}))


def test_what_has_extreme_log_probabilities_is_what_the_policy_makes() -> None:
    kl = 0.05 + np.abs(noise(100, 0.005))
    kl[40] = 900.0
    assert "tokens" in found(ID, run({"kl.ref": kl}, algorithm="grpo")).message
    assert "actions" in found(ID, run({"kl.old": kl}, algorithm="a2c")).message


@pytest.mark.parametrize("at", [4, 30, 70, 95])
def test_a_jump_that_stays_is_no_spike_that_came_back(at: int) -> None:
    kl = np.where(np.arange(100) < at, 0.01, 0.4) * np.exp(noise(100, 0.3))
    kl[at] = 1.2
    finding = found(ID, run({"kl.ref": kl}), Severity.WARNING)
    assert "stayed" in finding.message
    assert finding.onset == pytest.approx(at + 1, abs=1)


def test_a_divergence_that_grows_as_the_policy_learns_is_healthy() -> None:
    for grown in (0.4 * (1 - np.exp(-np.arange(1, 101) / 20)), np.geomspace(0.001, 0.4, 100)):
        finding = look(ID, run({"kl.ref": grown * np.exp(noise(100, 0.3))})).finding
        assert finding is None or "stayed" not in finding.message


def test_spikes_that_come_again_and_again_count_where_the_score_fell_from_there() -> None:
    late = np.arange(200) >= 100
    kl = 0.01 * np.exp(noise(200, 0.1)) * np.where(late & (np.arange(200) % 8 == 4), 30, 1)
    lost = np.where(late, 1 - np.arange(200) / 300, np.arange(200) / 150) + noise(200, 0.03, 2)
    assert "learning rate" in found(ID, run({"kl.ref": kl, "reward.mean": lost}), Severity.WARNING).message
    rising = np.arange(200) / 150 + noise(200, 0.03, 2)
    assert found(ID, run({"kl.ref": kl, "reward.mean": rising})).severity is Severity.NOTICE
