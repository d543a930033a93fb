"""stale-rollouts: data older than the policy can bear."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Confidence, Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "stale-rollouts"
N = 100
AGE = "staleness.mean"
SETTLED = 2 * (1 - np.exp(-np.arange(N) / 5)) + noise(N, 0.1)


def test_generation_that_falls_behind_is_found() -> None:
    age = SETTLED + np.maximum(0, np.arange(N) - 50) * 0.2
    finding = found(ID, run({AGE: age}, algorithm="grpo"), Severity.WARNING)
    assert "still grows" in finding.message
    assert finding.onset is not None
    assert 40 <= finding.onset <= 65


def test_data_beyond_the_limit_are_found() -> None:
    curves = {AGE: SETTLED, "staleness.max": 9 + noise(N, 0.2)}
    assert "the limit is 4" in found(ID, run(curves, algorithm="grpo", config={"max_staleness": 4})).message


def test_working_at_the_limit_is_healthy() -> None:
    curves = {AGE: SETTLED, "staleness.max": np.full(N, 4.0)}
    assert silent(ID, run(curves, algorithm="grpo", config={"max_staleness": 4}))


def test_filling_the_queue_is_healthy() -> None:
    assert silent(ID, run({AGE: SETTLED}, algorithm="grpo"))


def test_many_dropped_samples_are_found() -> None:
    made = np.arange(N) * 64.0
    curves = {AGE: SETTLED, "staleness.generated": made, "staleness.dropped": 0.4 * made}
    assert "40 %" in found(ID, run(curves, algorithm="grpo")).message
    curves["staleness.dropped"] = 0.02 * made
    assert silent(ID, run(curves, algorithm="grpo"))


@pytest.mark.parametrize("config", [{}, {"max_staleness": 16}])
def test_an_age_above_the_usual_is_a_notice_where_the_score_rises(config: dict[str, int]) -> None:
    stale = {AGE: SETTLED + 12}
    rising, flat = {"reward.mean": learning(N)}, {"reward.mean": noise(N)}
    assert found(ID, run(stale | rising, algorithm="grpo", config=config)).severity is Severity.NOTICE
    assert found(ID, run(stale | flat, algorithm="grpo", config=config)).severity is Severity.WARNING


def test_weights_that_never_arrive_stop_the_run() -> None:
    age = np.maximum(0.0, np.arange(N) - 30)
    assert found(ID, run({AGE: age}, algorithm="grpo", config={"max_staleness": 0}), Severity.CRITICAL).onset == 33


def test_synchronous_training_has_no_age() -> None:
    made = run({"reward.mean": noise(N)}, algorithm="grpo", config={"max_staleness": 0})
    assert look(ID, made).status is Status.NOT_APPLICABLE
    assert look(ID, run({"reward.mean": noise(N)}, algorithm="grpo")).status is Status.NOT_MEASURED


def test_a_default_limit_is_not_held_against_the_ages_that_are_logged() -> None:
    known = run({AGE: SETTLED, "staleness.max": np.full(N, 2.0)}, algorithm="grpo", config={"max_staleness": 0})
    assert "the limit is 0" in found(ID, known).message
    assert silent(ID, replace(known, config=replace(known.config, defaulted=frozenset({"max_staleness"}))))


def test_versions_of_the_weights_that_sample_tell_the_age_of_the_data() -> None:
    def of(oldest: int) -> Run:
        sampled = np.maximum(0, np.arange(1, 321) - oldest)
        return run({"policy_version.mean": sampled, "reward.mean": learning(320, 0.1, 0.5)}, algorithm="grpo")

    finding = found(ID, of(128), Severity.WARNING)
    assert "128 versions old" in finding.message
    assert finding.confidence is Confidence.HIGH  # nobody trains so, although the score rises
    assert found(ID, of(12)).severity is Severity.NOTICE
    assert silent(ID, of(2))
