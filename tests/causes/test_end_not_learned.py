"""end-not-learned: nearly all completions run into the limit from the first step on."""

from __future__ import annotations

import numpy as np

from firstbreak.engine.diagnose import diagnose
from tests.make import noise, run

ID = "end-not-learned"
N = 120


def ranked(cut: np.ndarray) -> list[str]:
    curves = {
        "reward.mean": 0.1 + noise(N, 0.02),
        "length.mean": 500 + noise(N, 3, 1),
        "length.clipped_ratio": np.clip(cut + noise(N, 0.01, 2), 0, 1),
    }
    return [c.id for c in diagnose(run(curves, algorithm="grpo", config={"max_new_tokens": 512})).causes]


def test_it_comes_before_a_limit_that_is_too_short_where_nothing_ever_ends() -> None:
    causes = ranked(np.full(N, 0.98))
    assert causes.index(ID) < causes.index("length-limit-too-short")


def test_a_limit_that_cuts_some_answers_is_another_cause() -> None:
    causes = ranked(np.full(N, 0.45))
    assert ID not in causes or causes.index("length-limit-too-short") < causes.index(ID)
