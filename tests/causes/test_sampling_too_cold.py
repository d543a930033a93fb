"""sampling-too-cold: a low temperature is no policy that became certain."""

from __future__ import annotations

import numpy as np

from firstbreak.engine.diagnose import diagnose
from tests.make import noise, run

N = 120


def ranked(temperature: float) -> list[str]:
    curves = {
        "reward.mean": 0.3 + noise(N, 0.03),
        "policy.entropy": np.abs(0.01 + noise(N, 0.005, 1)),
        "reward.zero_std_frac": 0.9 + noise(N, 0.02, 2),
    }
    return [c.id for c in diagnose(run(curves, algorithm="grpo", config={"temperature": temperature})).causes]


def test_a_temperature_far_below_the_usual_one_comes_before_an_entropy_that_collapsed() -> None:
    causes = ranked(0.05)
    assert causes.index("sampling-too-cold") < causes.index("premature-convergence")


def test_a_usual_temperature_is_no_cold_sampler() -> None:
    causes = ranked(1.0)
    assert "sampling-too-cold" not in causes or causes.index("premature-convergence") < causes.index(
        "sampling-too-cold"
    )
