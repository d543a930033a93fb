"""repetition-growing: completions that repeat themselves."""

import numpy as np

from firstbreak.model import Confidence, Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "repetition-growing"
GROWING = np.clip(0.02 + 0.4 * np.maximum(0, np.arange(120) - 60) / 60 + noise(120, 0.01), 0, 1)


def test_a_share_that_grows_is_a_warning_even_while_the_reward_rises() -> None:
    finding = found(ID, run({"text.repetition_frac": GROWING, "reward.mean": learning(120)}, algorithm="grpo"))
    assert (finding.severity, finding.confidence) == (Severity.WARNING, Confidence.HIGH)
    assert 50 <= finding.onset <= 80


def test_with_a_lost_score_it_is_sure() -> None:
    fall = np.concatenate([learning(60), np.full(60, 0.1)]) + noise(120, 0.03, 1)
    curves = {"text.repetition_frac": GROWING, "reward.mean": fall}
    assert found(ID, run(curves, algorithm="grpo")).confidence is Confidence.HIGH


def test_a_steady_or_small_share_is_healthy() -> None:
    for level in (0.3, 0.01):
        curves = {"text.repetition_frac": level * (1 + noise(120, 0.1)), "reward.mean": learning(120)}
        assert silent(ID, run(curves, algorithm="grpo"))
    rare = {"text.repetition_frac": np.linspace(0.001, 0.03, 120), "reward.mean": learning(120)}
    assert silent(ID, run(rare, algorithm="grpo"))
