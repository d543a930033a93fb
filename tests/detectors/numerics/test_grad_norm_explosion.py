"""grad-norm-explosion: a norm beyond its own past."""

import numpy as np
import pytest

from firstbreak.model import Confidence, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "grad-norm-explosion"
N = 200
NORM = "grad.norm"
CALM = np.exp(noise(N, 0.3))
FLAT = 0.3 + noise(N, 0.05)
FALL = np.where(np.arange(N) < 120, learning(N), 0.1) + noise(N, 0.03)


def test_growth_while_the_score_falls_stops_the_run() -> None:
    finding = found(ID, run({NORM: CALM * np.where(np.arange(N) < 110, 1, 400), "reward.mean": FALL}))
    assert finding.severity is Severity.CRITICAL
    assert finding.onset == pytest.approx(111, abs=5)


def test_growth_without_a_rising_score_is_a_warning() -> None:
    found(ID, run({NORM: CALM * np.where(np.arange(N) < 110, 1, 30), "reward.mean": FLAT}), Severity.WARNING)


def test_slow_growth_has_an_onset_too() -> None:
    finding = found(ID, run({NORM: CALM * np.geomspace(1, 1000, N), "reward.mean": FLAT}))
    assert finding.interval is not None
    assert finding.onset is not None
    assert 1 < finding.onset < N


def test_growth_is_measured_against_the_past_whatever_the_scale() -> None:
    for scale in (1e-6, 1.0, 1e6):
        assert found(ID, run({NORM: scale * CALM * np.where(np.arange(N) < 110, 1, 30), "reward.mean": FLAT}))


def test_without_a_score_the_confidence_is_low() -> None:
    assert found(ID, run({NORM: CALM * np.where(np.arange(N) < 110, 1, 30)})).confidence is Confidence.LOW


def test_growth_while_the_score_rises_is_expected() -> None:
    assert look(ID, run({NORM: CALM * np.geomspace(1, 60, N), "reward.mean": learning(N)})).expected


@pytest.mark.parametrize(
    "norm",
    [
        CALM,
        CALM * np.linspace(1.5, 5, N),  # sharpens
        CALM * np.geomspace(1, 0.2, N),  # decays
        np.where(np.arange(N) < 10, 500.0, CALM),  # the first updates
        np.where(np.arange(N) == 120, 300.0, CALM),  # one spike
        np.full(N, 40.0),  # logged behind the clip
    ],
    ids=["calm", "sharpens", "decays", "begins-large", "one-spike", "clipped"],
)
def test_healthy_norms(norm: np.ndarray) -> None:
    assert silent(ID, run({NORM: norm, "reward.mean": FLAT}))


def test_a_heavy_tail_is_a_notice_with_the_clip_that_catches_it() -> None:
    norm = np.where(np.arange(N) % 15 == 14, 11.0, 0.5) * CALM**0.3
    finding = found(ID, run({NORM: norm, "reward.mean": learning(N)}, config={"grad_clip": 0.5}), Severity.NOTICE)
    assert "clipped at 0.5" in finding.message


def test_a_norm_of_billions_beside_an_ordinary_loss_needs_no_history() -> None:
    lines = {NORM: [3e9, 2e9], "policy.loss": [0.1, 0.15], "length.mean": [900.0, 950.0]}
    assert found(ID, run(lines)).severity is Severity.CRITICAL
    assert look(ID, run({**lines, "policy.loss": [4e8, 3e8]})).status is Status.NOT_MEASURED
    assert look(ID, run({**lines, NORM: [300.0, 200.0]})).status is Status.NOT_MEASURED


def test_one_spike_is_an_accident() -> None:
    one = np.where(np.arange(200) == 120, 30.0, 1.0) * np.exp(noise(200, 0.1))
    stops = np.minimum(np.linspace(0, 1, 200), 0.5) + noise(200, 0.03, 1)
    assert silent(ID, run({"grad.norm": one, "reward.mean": stops}))


def test_a_norm_that_explodes_while_the_score_falls_from_its_gain_is_found() -> None:
    late = np.maximum(0, np.arange(200) - 150) / 50
    score = np.minimum(np.linspace(0, 2, 200), 1) - 0.2 * late + noise(200, 0.02, 1)
    assert (
        found(ID, run({"grad.norm": np.exp(5 * late + noise(200, 0.1)), "reward.mean": score})).severity
        is not Severity.NOTICE
    )


def test_a_jump_to_six_times_the_norm_counts_where_the_score_falls_from_there() -> None:
    late = np.arange(120) >= 70
    norms = np.where(late, 6.0, 1.0) * (1 + noise(120, 0.1, 1))
    lost = np.where(late, 0.4, np.arange(120) / 100) + noise(120, 0.03, 2)
    assert abs(found(ID, run({"grad.norm": norms, "reward.mean": lost})).onset - 71) <= 1
    assert silent(ID, run({"grad.norm": norms, "reward.mean": np.arange(120) / 100 + noise(120, 0.03, 2)}))


def test_spikes_below_the_first_norms_are_no_explosion() -> None:
    solved = np.concatenate([np.ones(30), np.full(N - 30, 0.005)]) * CALM
    solved[40::10] = 0.2
    score = np.minimum(1, np.linspace(0, 4, N)) + noise(N, 0.01)
    assert found(ID, run({NORM: solved, "reward.mean": score})).severity is Severity.NOTICE
    solved[:30] = CALM[:30] / 100
    assert found(ID, run({NORM: solved, "reward.mean": score})).severity is Severity.WARNING


def test_growth_to_the_end_is_a_sign_before_the_score_falls() -> None:
    norms = CALM * np.where(np.arange(N) < 130, 0.25, 0.25 * 25 ** ((np.arange(N) - 130) / (N - 130)))
    score = np.minimum(0.7, np.linspace(0.3, 1.2, N)) + noise(N, 0.01)
    assert "since" in found(ID, run({NORM: norms, "reward.mean": score}), Severity.WARNING, Confidence.HIGH).message
    assert silent(ID, run({NORM: norms, "reward.mean": np.linspace(0.3, 1.2, N) + noise(N, 0.01)}))


def test_a_very_heavy_tail_is_a_warning() -> None:
    norms = 0.6 * CALM
    norms[100::6] *= 170
    score = np.linspace(0.3, 0.7, N) + noise(N, 0.01)
    found(ID, run({NORM: norms, "reward.mean": score}), Severity.WARNING)
