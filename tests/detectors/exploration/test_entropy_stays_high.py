"""entropy-stays-high: as random as it began."""

import numpy as np

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "entropy-stays-high"


def test_entropy_and_score_that_both_stand_still() -> None:
    finding = found(ID, run({"policy.entropy": 1.38 + noise(100, 0.005), "reward.mean": noise(100, 1, 1)}))
    assert finding.severity is Severity.WARNING
    assert "99.8 %" in finding.message


def test_a_score_that_rises_is_healthy() -> None:
    assert silent(ID, run({"policy.entropy": [1.38] * 100, "reward.mean": learning(100)}))


def test_ten_noisy_evaluations_hide_no_training_reward_that_rises() -> None:
    evaluated = series("eval.reward", 0.3 + noise(10, 0.1), np.arange(0, 100, 10))
    for reward, says in ((learning(100), False), (noise(100, 1, 1), True)):
        made = run({"policy.entropy": 1.38 + noise(100, 0.005), "reward.mean": reward})
        shown = Run(path="a-run", series={**made.series, "eval.reward": evaluated})
        assert (look(ID, shown).status is Status.FOUND) == says


def test_an_entropy_that_falls_is_another_matter() -> None:
    assert silent(ID, run({"policy.entropy": np.linspace(1.38, 0.7, 100), "reward.mean": noise(100)}))


def test_the_first_entropy_of_a_log_that_begins_in_mid_run_is_no_start() -> None:
    later = 5000 + np.arange(100)
    curves = {"policy.entropy": 1.38 + noise(100, 0.005), "reward.mean": noise(100, 1, 1)}
    made = Run(path="a-run", series={name: series(name, values, later) for name, values in curves.items()})
    assert look(ID, made).status is Status.NOT_MEASURED


def test_a_score_at_its_maximum_is_not_undecided() -> None:
    for level, says in ((0.99, False), (0.3, True)):
        made = {"policy.entropy": 1.38 + noise(100, 0.005), "eval.accuracy": level + noise(100, 0.003)}
        assert (look(ID, run(made, algorithm="grpo")).status is Status.FOUND) == says
