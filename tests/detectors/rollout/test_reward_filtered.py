"""reward-filtered: what a filter of groups hides."""

import numpy as np

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "reward-filtered"
N = 200
HELD = 0.5 + noise(N, 0.02)


def test_prompts_that_get_harder_behind_the_filter() -> None:
    finding = found(ID, run({"reward.mean": HELD, "reward.rollout.mean": np.linspace(0.35, 0.1, N) + noise(N, 0.03)}))
    assert finding.severity is Severity.WARNING
    assert "harder" in finding.message


def test_a_rise_behind_the_filter_is_a_notice() -> None:
    finding = found(ID, run({"reward.mean": HELD, "reward.rollout.mean": np.linspace(0.15, 0.25, N) + noise(N, 0.03)}))
    assert finding.severity is Severity.NOTICE
    assert "no measure of progress" in finding.message


def test_without_a_filter_both_are_one_number() -> None:
    reward = np.linspace(0.3, 0.7, N) + noise(N, 0.03)
    assert silent(ID, run({"reward.mean": reward, "reward.rollout.mean": reward + noise(N, 0.02)}))
