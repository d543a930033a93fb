"""truncation: answers that never come."""

import numpy as np

from firstbreak.model import Confidence, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "truncation"
FLAT = noise(120, 0.1)


def test_most_answers_cut_and_nothing_learned_is_critical() -> None:
    finding = found(ID, run({"length.clipped_ratio": 0.9 + noise(120, 0.02, 1), "reward.mean": FLAT}))
    assert finding.severity is Severity.CRITICAL
    assert "90 %" in finding.message
    assert finding.onset == 1


def test_a_score_that_rises_all_the_same_makes_it_a_warning() -> None:
    assert (
        found(ID, run({"length.clipped_ratio": [0.5] * 120, "reward.mean": learning(120)})).severity is Severity.WARNING
    )


def test_a_share_that_grows_from_nothing_has_its_onset_there() -> None:
    share = np.concatenate([np.zeros(60), np.linspace(0, 0.6, 60)]) + np.abs(noise(120, 0.01, 2))
    finding = found(ID, run({"length.clipped_ratio": share, "reward.mean": FLAT}))
    assert "grows" in finding.message
    assert finding.interval is not None
    assert finding.interval[0] <= 70
    assert 55 <= finding.onset <= 90


def test_a_few_cut_answers_are_healthy() -> None:
    assert silent(ID, run({"length.clipped_ratio": 0.02 + np.abs(noise(120, 0.01)), "reward.mean": learning(120)}))


def test_the_limit_is_seen_where_lengths_keep_hitting_it() -> None:
    lengths = np.minimum(200.0, 199 + noise(120, 3, 3))
    finding = found(ID, run({"length.mean": lengths, "reward.mean": FLAT}))
    assert "200 tokens" in finding.message
    assert finding.severity is Severity.CRITICAL


def test_lengths_that_hit_no_wall_say_nothing() -> None:
    assert look(ID, run({"length.mean": 150 + noise(120, 10), "reward.mean": FLAT})).status is Status.NOT_MEASURED


def test_a_default_limit_that_the_lengths_exceed_is_not_believed() -> None:
    made = run({"length.mean": 300 + noise(120, 10), "reward.mean": FLAT}, config={"max_new_tokens": 256})
    assert look(ID, made).status is Status.NOT_MEASURED


def test_one_reported_value_is_enough_to_be_worth_saying() -> None:
    assert found(ID, run({"length.clipped_ratio": [1.0], "reward.mean": [0.0]})).severity is Severity.CRITICAL


def test_a_share_of_two_completions_a_step_is_too_noisy_for_a_stop() -> None:
    of_two = np.random.default_rng(4).integers(0, 3, 24) / 2
    of_two[12:] = [0, 1, 0.5, 0, 1, 0.5, 0, 0, 1, 0.5, 0, 0.5]
    noisy = {"length.clipped_ratio": of_two, "reward.mean": noise(24)}
    assert found(ID, run(noisy)).severity is Severity.WARNING
    assert found(ID, run({**noisy, "length.clipped_ratio": [0.42] * 24})).severity is Severity.CRITICAL


def test_a_constant_share_above_five_per_cent_is_a_doubtful_warning() -> None:
    cut = {"length.clipped_ratio": 0.07 + noise(120, 0.005), "reward.mean": learning(120)}
    found(ID, run(cut), Severity.WARNING, Confidence.LOW)
    assert silent(ID, run({**cut, "length.clipped_ratio": 0.04 + noise(120, 0.005)}))
    assert silent(ID, run({**cut, "length.clipped_ratio": 0.12 * np.exp(-np.arange(120) / 60) + 0.04}))


def test_growing_lengths_with_a_small_growing_share_are_worth_watching() -> None:
    grown = np.linspace(0, 1, 120)
    curves = {"length.clipped_ratio": 0.005 + 0.03 * grown**2, "reward.mean": learning(120)}
    finding = found(ID, run({**curves, "length.mean": 200 * (1 + grown) + noise(120, 5)}), Severity.NOTICE)
    assert "raise the limit before" in finding.message
    assert silent(ID, run({**curves, "length.mean": 200 + noise(120, 5)}))
