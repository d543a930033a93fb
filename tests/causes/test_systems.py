"""memory-at-its-limit, scoring-too-slow and interference: what a machine lacks is named, and a machine with room is not."""

from __future__ import annotations

import numpy as np
import pytest

from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.rank import rank
from firstbreak.model import Link
from tests.make import learning, noise, run

N = 200
HEALTHY = {
    "reward.mean": learning(N),
    "eval.accuracy": learning(N, seed=1),
    "length.mean": 200 + noise(N, 5),
    "time.step": 30 * np.exp(noise(N, 0.03, 2)),
    "time.rollout": 15 * np.exp(noise(N, 0.03, 3)),
    "time.reward": 2 * np.exp(noise(N, 0.03, 4)),
    "memory.gpu": 50 + noise(N, 0.1, 5),
}
SLOW = np.clip((np.arange(N) - 60) / 30, 0, 1)
BUSY = (np.arange(N) // 25) % 4 == 2

FAULTS = {
    "memory-at-its-limit": {"memory.gpu": 78.6 + noise(N, 0.1, 5)},
    "scoring-too-slow": {
        "time.reward": HEALTHY["time.reward"] + 60 * SLOW,
        "time.step": HEALTHY["time.step"] + 60 * SLOW,
    },
    "interference": {"time.step": HEALTHY["time.step"] * np.where(BUSY, 3, 1)},
}


@pytest.mark.parametrize("cause", FAULTS)
def test_the_cause_is_named_before_all_others_of_its_link(cause: str) -> None:
    broken = run(HEALTHY | FAULTS[cause], algorithm="grpo")
    named = [c for c in rank(Inputs(broken), check(broken)) if c.link is Link.SYSTEMS]
    assert named[0].id == cause
    assert named[0].fix


def test_a_machine_with_room_has_none_of_them() -> None:
    dx = diagnose(run(HEALTHY, algorithm="grpo"))
    assert all(c.id not in FAULTS or c.probability < 0.02 for c in dx.causes)
