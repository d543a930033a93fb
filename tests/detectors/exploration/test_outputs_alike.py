"""outputs-alike: one strategy left."""

import numpy as np

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "outputs-alike"


def test_few_distinct_outputs() -> None:
    distinct = np.concatenate([np.full(40, 0.9), np.full(60, 0.03)]) + np.abs(noise(100, 0.005))
    finding = found(ID, run({"diversity.distinct": distinct, "reward.mean": noise(100)}), Severity.WARNING)
    assert 38 <= finding.onset <= 44


def test_many_distinct_outputs_are_healthy() -> None:
    assert silent(ID, run({"diversity.distinct": [0.9] * 100, "reward.mean": noise(100)}))


def test_lengths_that_become_equal() -> None:
    low = np.concatenate([np.full(50, 10.0), np.full(50, 32.0)])
    made = run({"length.min": low, "length.max": [32.0] * 100, "reward.mean": noise(100)})
    assert found(ID, made).onset == 51


def test_lengths_that_are_equal_because_all_are_cut_are_another_finding() -> None:
    made = run(
        {
            "length.min": [32.0] * 100,
            "length.max": [32.0] * 100,
            "length.clipped_ratio": [1.0] * 100,
            "reward.mean": noise(100),
        }
    )
    assert silent(ID, made)


def test_without_either_it_is_not_measured() -> None:
    assert look(ID, run({"reward.mean": noise(50)})).status is Status.NOT_MEASURED


def test_lengths_that_become_equal_while_the_entropy_holds_are_those_of_a_form() -> None:
    low = np.concatenate([np.full(50, 10.0), np.full(50, 32.0)])
    curves = {"length.min": low, "length.max": [32.0] * 100, "reward.mean": noise(100)}
    assert silent(ID, run({**curves, "policy.entropy": 0.3 + np.abs(noise(100, 0.02))}))
    assert found(ID, run({**curves, "policy.entropy": np.linspace(0.3, 0.01, 100)}))


def test_lengths_that_are_equal_from_the_start_are_no_form_that_was_learned() -> None:
    curves = {"length.min": [32.0] * 100, "length.max": [32.0] * 100, "policy.entropy": [0.3] * 100}
    assert found(ID, run({**curves, "reward.mean": noise(100)}))


def test_answers_of_one_length_that_earn_differently_are_not_alike() -> None:
    low = np.concatenate([np.full(50, 3.0), np.full(50, 4.0)])
    lengths = {"length.min": low, "length.max": [4.0] * 100, "reward.mean": noise(100)}
    assert silent(ID, run({**lengths, "reward.zero_std_frac": [0.6] * 100}))
    assert found(ID, run({**lengths, "reward.zero_std_frac": [1.0] * 100})).onset == 51


def test_the_advice_is_for_what_acts() -> None:
    curves = {"diversity.distinct": [0.03] * 100, "reward.mean": noise(100)}
    assert "completions" in found(ID, run(curves, algorithm="grpo")).message
    assert "episodes" in found(ID, run(curves, algorithm="ppo")).message
