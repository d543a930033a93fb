"""What is asked of every step, on streams of single numbers."""

import math
from collections.abc import Iterable

import numpy as np
import pytest

from firstbreak.engine.registry import detectors
from firstbreak.live.guard.decision import Act
from firstbreak.live.guard.invariants import INVARIANTS, NO_PAST, PROVED, Rule, Violation, limits, rule_for


def through(signal: str, values: Iterable[float], target_kl: float | None = None) -> list[tuple[int, Violation]]:
    """The violations of a stream, by its index."""
    rule, past, found = rule_for(signal), NO_PAST, []
    assert rule is not None
    for i, value in enumerate(values):
        past, violation = rule(past, float(value), limits()._replace(target_kl=target_kl))
        if violation is not None:
            found.append((i, violation))
    return found


def acts(found: list[tuple[int, Violation]]) -> list[tuple[int, Act]]:
    return [(i, violation.act) for i, violation in found]


RNG = np.random.default_rng(0)
HEALTHY = {
    "grad.norm": np.exp(RNG.normal(0, 0.8, 2000)) * np.linspace(3, 0.1, 2000),
    "kl.old": np.exp(RNG.normal(-5, 1, 2000)),
    "policy.ratio.mean": 1 + RNG.normal(0, 0.02, 2000),
    "policy.clip_fraction": RNG.uniform(0, 0.4, 2000),
    "policy.entropy": np.linspace(2, 0.4, 2000) + RNG.normal(0, 0.05, 2000),
    "loss.total": RNG.normal(0, 1, 2000),
}


@pytest.mark.parametrize("signal", HEALTHY)
def test_a_healthy_stream_is_left_in_peace(signal: str) -> None:
    assert through(signal, HEALTHY[signal]) == []


def test_one_nan_skips_an_update_and_three_in_a_row_stop_the_run() -> None:
    values = [1.0, 1.0, math.nan, 1.0, math.inf, math.nan, math.nan, 1.0]
    skip = Act.SKIP_UPDATE
    assert acts(through("loss.total", values)) == [(2, skip), (4, skip), (5, skip), (6, Act.STOP)]


def test_cells_that_a_table_leaves_empty_are_no_accident() -> None:
    values = [math.nan if i % 2 else 1.0 for i in range(200)]
    assert len(through("policy.loss", values)) < 10


def test_what_an_update_does_not_compute_may_be_anything() -> None:
    assert rule_for("reward.mean") is None
    assert rule_for("value.explained_variance") is None


def test_a_divergence_is_held_against_its_target() -> None:
    assert acts(through("kl.old", [0.01, 0.031, 0.041, 0.01], target_kl=0.02)) == [(2, Act.SKIP_UPDATE)]


def test_without_a_target_only_one_beyond_all_measure_counts() -> None:
    quiet = [0.01] * 50
    assert through("kl.old", [*quiet, 0.4]) == []
    assert acts(through("kl.old", [*quiet, 5.0])) == [(50, Act.SKIP_UPDATE)]
    assert through("kl.old", [5.0, 0.01]) == [], "the first updates have no past"


def test_an_outlier_of_the_gradient_is_left_out_and_a_new_level_is_not() -> None:
    usual = list(np.exp(RNG.normal(0, 0.3, 100)))
    assert acts(through("grad.norm", [*usual, 100.0, *usual])) == [(100, Act.SKIP_UPDATE)]
    assert len(through("grad.norm", [*usual, *[100.0] * 500])) == 3


def test_a_ratio_off_one_and_a_clip_that_cuts_most_ask_for_smaller_steps() -> None:
    assert acts(through("policy.ratio.mean", [1.0, 2.5, 1.0, 2.5, 2.5, 2.5, 2.5])) == [(5, Act.REDUCE)]
    assert acts(through("policy.clip_fraction", [0.1] + [0.7] * 20)) == [(5, Act.REDUCE)]


def test_an_entropy_below_a_part_of_its_start_asks_the_detectors() -> None:
    ((at, violation),) = through("policy.entropy", [2.0] * 30 + [0.1] * 30)
    assert (at, violation.act) == (32, Act.CONTINUE)
    assert "entropy fell to 0.1" in violation.message


@pytest.mark.parametrize("signal", HEALTHY)
def test_nothing_is_remembered_but_a_few_numbers(signal: str) -> None:
    rule: Rule | None = rule_for(signal)
    assert rule is not None
    past = NO_PAST
    for value in HEALTHY[signal]:
        past, _ = rule(past, float(value), limits())
    assert all(isinstance(field, int | float) for field in past)


def test_every_invariant_takes_its_thresholds_from_the_check_that_it_speeds_up() -> None:
    assert set(INVARIANTS.values()) <= set(detectors())
    clipped = detectors()["clip-fraction-high"].thresholds["high"].default
    assert through("policy.clip_fraction", [clipped - 0.01] * 30) == []
    assert acts(through("policy.clip_fraction", [clipped + 0.01] * 30)) == [(4, Act.REDUCE)]
    times = detectors()["step-too-large"].thresholds["max_target_ratio"].default
    assert through("kl.old", [0.99 * times * 0.02] * 30, target_kl=0.02) == []
    assert acts(through("kl.old", [1.01 * times * 0.02], target_kl=0.02)) == [(0, Act.SKIP_UPDATE)]


def test_a_loss_that_doubles_at_every_step_is_stopped_long_before_it_overflows() -> None:
    noise = 1 + np.random.default_rng(1).normal(0, 0.1, 40)
    doubles = [*noise, *(2.0**i for i in range(1, 128))]
    (at, violation), *_ = through("loss.total", doubles)
    assert violation.act is Act.STOP
    assert doubles[at] < 65504 / 10, "float16 still holds it"
    assert "overflows float16 in" in violation.message


@pytest.mark.parametrize(
    "values",
    [
        [1.0, *(1.0 * 2**i for i in range(9)), *[256.0] * 50],  # grew, and came to rest
        [0.0] * 20 + [1e-9 * 2**i for i in range(30)],  # still nothing
        [1e5 * (1 + 0.3 * (i % 2)) for i in range(99)],  # large, as unscaled returns make it
        [math.nan, 1.0] * 30,
    ],
)
def test_losses_that_do_not_run_away_go_on(values: list[float]) -> None:
    assert not [v for _, v in through("value.loss", values) if v.act is Act.STOP]


@pytest.mark.parametrize("signal", PROVED)
def test_an_identity_that_fails_stops_at_once_and_one_that_holds_does_not(signal: str) -> None:
    assert acts(through(signal, [0.0, 1.0])) == [(1, Act.STOP)]
    assert through(signal, [0.0, 0.0]) == []
