"""far-from-reference: a divergence per token that no healthy run has."""

import numpy as np
import pytest

from firstbreak.model import Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "far-from-reference"


def test_two_nats_per_token_are_found() -> None:
    divergence = np.r_[np.linspace(0, 2.2, 12), 2.2 + noise(60, 0.2)]
    made = run({"kl.ref": divergence, "reward.mean": learning(72, 0.65, 0.7)}, algorithm="grpo")
    finding = found(ID, made)
    assert finding.onset is not None
    assert finding.onset < 15
    assert "per token" in finding.message


@pytest.mark.parametrize("level", [0.02, 0.15, 0.5])
def test_what_healthy_runs_have_is_healthy(level: float) -> None:
    assert silent(ID, run({"kl.ref": np.linspace(0, level, 60), "reward.mean": learning(60)}, algorithm="grpo"))


def test_spikes_that_come_back_are_another_finding() -> None:
    divergence = np.where(np.arange(80) % 9 == 4, 30.0, 0.05)
    assert silent(ID, run({"kl.ref": divergence, "reward.mean": learning(80)}, algorithm="grpo"))


def test_the_sum_over_a_completion_is_not_per_token() -> None:
    made = run({"kl.ref": np.full(60, 8.0), "reward.mean": learning(60)}, algorithm="ppo")
    assert look(ID, made).status is Status.NOT_APPLICABLE
