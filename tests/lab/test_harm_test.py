"""The harm test admits harmful faults, rejects harmless ones, and admits almost nothing if labels are shuffled."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.lazy import lazy

harm_test = lazy("firstbreak_lab.harm_test")
running = lazy("firstbreak_lab.running")

BASE = "language/grpo-sort"


def label(variant: str, seed: int, score: float, **more: Any) -> running.Label:
    """A run with a known true score; whatever else is not given is the same for every run."""
    link = {"untouched": None, "groups-mixed": "advantage", "stale-weights": "evaluation"}.get(variant, "systems")
    truth = {"link": link, "cause": None, "onset": None, "steps": 70, "reported": score, "seconds": 10.0}
    return running.Label(
        **{
            **dict(variant=variant, base=BASE, seed=seed, severity=1.0, score=score, cpu_seconds=10.0, peak_gb=0.4),
            **truth,
            **more,
        }
    )


def twins(n: int = 5) -> list[running.Label]:
    return [label("untouched", seed, 0.7 + 0.01 * seed) for seed in range(n)]


def faulty(variant: str, harms: list[float], **more: Any) -> list[running.Label]:
    """One run per entry, worse than its twin by that much."""
    return [label(variant, seed, 0.7 + 0.01 * seed - harm, **more) for seed, harm in enumerate(harms)]


def test_harm_over_five_seeds_is_admitted_with_its_size() -> None:
    (admission,) = harm_test.admissions(twins() + faulty("groups-mixed", [0.2, 0.3, 0.25, 0.22, 0.28]))
    assert admission.admitted
    assert admission.setting == ("groups-mixed", BASE, 1.0)
    assert admission.outcome == "score"
    assert admission.harm == pytest.approx(0.25)
    low, high = admission.interval
    assert 0.2 < low < 0.25 < high < 0.3
    assert admission.effect > 5


@pytest.mark.parametrize("harms", [[0.2, 0.3, -0.1, 0.3, 0.3], [0.0] * 5, [-0.3] * 5])
def test_what_is_not_worse_is_harmless(harms: list[float]) -> None:
    (admission,) = harm_test.admissions(twins() + faulty("groups-mixed", harms))
    assert admission.judged
    assert not admission.admitted
    assert "harmless: score" in admission.reason


@pytest.mark.parametrize(("runs", "pairs"), [(4, 5), (5, 4), (5, 0)])
def test_too_few_pairs_are_not_judged(runs: int, pairs: int) -> None:
    (admission,) = harm_test.admissions(twins(pairs) + faulty("groups-mixed", [0.5] * runs))
    assert not admission.judged
    assert not admission.admitted
    assert f"{min(runs, pairs)} seeds with a twin" in admission.reason


def test_an_evaluation_is_judged_by_its_distance_from_the_truth_in_either_direction() -> None:
    optimistic = [replace(run, reported=run.score + 0.3) for run in faulty("stale-weights", [0.0] * 5)]
    pessimistic = [replace(run, reported=run.score - 0.3) for run in faulty("stale-weights", [0.0] * 5)]
    for runs in (optimistic, pessimistic):
        (admission,) = harm_test.admissions(twins() + runs)
        assert (admission.outcome, admission.admitted) == ("honesty", True)
        assert admission.harm == pytest.approx(0.3)


def test_systems_are_judged_by_what_the_run_costs() -> None:
    slow = faulty("rollout-worker-slow", [0.0] * 5, seconds=20.0)
    greedy = faulty("memory-creeps", [0.0] * 5, peak_gb=1.0)
    by_variant = {admission.variant: admission for admission in harm_test.admissions(twins() + slow + greedy)}
    assert (by_variant["rollout-worker-slow"].outcome, by_variant["rollout-worker-slow"].admitted) == ("time", True)
    assert by_variant["rollout-worker-slow"].harm == pytest.approx(np.log(2))
    assert (by_variant["memory-creeps"].outcome, by_variant["memory-creeps"].admitted) == ("memory", True)
    assert set(harm_test.OUTCOMES) == {"score", "honesty", "time", "memory"}


def test_chance_is_admitted_at_the_level_of_the_test_or_less() -> None:
    rng = np.random.default_rng(0)
    labels = twins(8)
    for severity in range(30):
        labels += [replace(run, severity=severity) for run in faulty("groups-mixed", list(rng.normal(0.3, 0.1, 8)))]
    assert all(admission.admitted for admission in harm_test.admissions(labels))
    assert 0 < harm_test.control(labels) <= harm_test.LEVEL + 0.01


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=9))
def test_the_sign_flip_probability_behaves(harms: list[float]) -> None:
    values = np.array(harms)
    p = harm_test.sign_flip(values)
    assert 2.0 ** -len(harms) <= p <= 1
    assert harm_test.sign_flip(values * 3) == pytest.approx(p)
    assert harm_test.sign_flip(np.append(values, 0.0)) == pytest.approx(p)
    if (values > 1e-3).all() and np.ptp(values) < 1e3:
        assert p <= 2.0 ** (1 - len(harms))


def test_many_seeds_are_sampled_and_agree_with_the_exact_answer() -> None:
    harms = np.concatenate([np.full(12, 1.0), np.full(2, -1.0)])
    from scipy.stats import binom

    assert harm_test.sign_flip(harms) == pytest.approx(binom.sf(11, 14, 0.5), abs=0.005)


def test_the_interval_covers_the_mean() -> None:
    rng = np.random.default_rng(1)
    intervals = [harm_test.bootstrap(rng.normal(0.0, 1.0, 30)) for _ in range(200)]
    assert 0.88 < np.mean([low <= 0.0 <= high for low, high in intervals]) < 0.99
