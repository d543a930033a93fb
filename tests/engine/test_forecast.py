"""Walls ahead: when entropy, length or divergence will meet them."""

import numpy as np

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.forecast import forecasts
from firstbreak.engine.inputs import Inputs
from firstbreak.reports.content import outlook
from tests.make import noise, run

N = 200
STEPS = np.arange(1, N + 1)


def test_a_length_that_grows_meets_its_limit_when_it_does() -> None:
    lengths = 100 + 2.0 * STEPS + noise(N, 3)  # reaches 600 at step 250
    (found,) = forecasts(Inputs(run({"length.mean": lengths}, algorithm="grpo", config={"max_new_tokens": 600})))
    assert found.name == "the length limit"
    assert found.within[0] <= 50 <= found.within[1]


def test_an_entropy_that_decays_meets_its_floor() -> None:
    entropy = 2.0 - 1.6 * STEPS / N + noise(N, 0.02)  # 0.1 would be at step 237
    (found,) = forecasts(Inputs(run({"policy.entropy": entropy}, algorithm="grpo")))
    assert found.metric == "policy.entropy"
    assert found.within[0] < 60


def test_what_has_levelled_off_meets_nothing() -> None:
    lengths = 300 - 200 * np.exp(-STEPS / 20) + noise(N, 3)
    assert not forecasts(Inputs(run({"length.mean": lengths}, algorithm="grpo", config={"max_new_tokens": 600})))


def test_what_stands_beyond_its_wall_is_no_forecast() -> None:
    assert not forecasts(Inputs(run({"kl.ref": 2 + STEPS / N}, algorithm="grpo")))


def test_the_report_says_what_is_ahead() -> None:
    lengths = 100 + 2.0 * STEPS + noise(N, 3)
    dx = diagnose(run({"length.mean": lengths}, algorithm="grpo", config={"max_new_tokens": 600}))
    (ahead,) = [fact.text for fact in outlook(dx) if fact.label == "Forecast"]
    assert "reaches 600, the length limit" in ahead
