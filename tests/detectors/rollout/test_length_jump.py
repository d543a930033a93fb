"""length-jump: another way to be paid, found from one step to the next."""

import numpy as np
import pytest

from firstbreak.model import Severity
from tests.detectors.look import found, silent
from tests.make import learning, noise, run

ID = "length-jump"
N = 100
X = np.linspace(0, 1, N)


def lengths(course: np.ndarray) -> np.ndarray:
    return np.asarray(300 * course * (1 + noise(N, 0.03)))


@pytest.mark.parametrize(("ratio", "how"), [(0.3, "shorter"), (3.0, "longer")])
def test_a_jump_that_stays_is_found_where_it_is(ratio: float, how: str) -> None:
    curves = {"length.mean": lengths(np.where(np.arange(N) < 50, 1.0, ratio)), "reward.mean": learning(N)}
    finding = found(ID, run(curves, algorithm="grpo"), Severity.WARNING)
    assert how in finding.message
    assert 42 <= finding.onset <= 52


@pytest.mark.parametrize(
    "course",
    [
        3.0**X,  # learns to think longer
        3.0**-X,  # learns to be brief
        np.where(np.arange(N) < 5, 3.0, 1.0),  # drops its chatter in the first steps
        np.where((np.arange(N) > 50) & (np.arange(N) < 60), 3.0, 1.0),  # a batch of long problems
    ],
)
def test_gradual_changes_and_passing_ones_are_healthy(course: np.ndarray) -> None:
    assert silent(ID, run({"length.mean": lengths(course), "reward.mean": learning(N)}, algorithm="grpo"))


def test_a_jump_that_the_evaluation_rewards_is_healthy() -> None:
    longer = np.where(np.arange(N) < 50, 1.0, 3.0)
    curves = {"length.mean": lengths(longer), "eval.accuracy": 0.3 + 0.1 * longer + noise(N, 0.02)}
    assert silent(ID, run(curves, algorithm="grpo"))
    unmoved = {**curves, "eval.accuracy": 0.3 + noise(N, 0.02)}
    assert "shortcut" in found(ID, run(unmoved, algorithm="grpo")).message


def test_other_prompts_explain_other_lengths() -> None:
    longer = np.where(np.arange(N) < 50, 1.0, 3.0)
    assert silent(ID, run({"length.mean": lengths(longer), "length.prompt.mean": 100 * longer}, algorithm="grpo"))
