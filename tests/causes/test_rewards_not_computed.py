"""rewards-not-computed: the first cause where rewards stay away, and none where they do not."""

from __future__ import annotations

import numpy as np

from firstbreak.engine.diagnose import diagnose
from tests.make import learning, noise, run

ID = "rewards-not-computed"


def probabilities(missing: np.ndarray) -> dict[str, float]:
    reward = np.where(missing, np.nan, learning(120))
    curves = {"reward.mean": reward, "length.mean": 200 + noise(120, 5), "grad.norm": 1 + noise(120, 0.1)}
    return {cause.id: cause.probability for cause in diagnose(run(curves, algorithm="grpo")).causes}


def test_it_is_the_first_cause_where_rewards_stay_away() -> None:
    told = probabilities(np.arange(120) >= 60)
    assert max(told, key=lambda cause: told[cause]) == ID


def test_it_is_no_cause_of_a_run_with_all_its_rewards() -> None:
    assert probabilities(np.zeros(120, bool)).get(ID, 0.0) < 0.05
