"""The reward model learns what its labels say."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

from firstbreak_lab.language.warmup import warmed_up  # noqa: E402
from firstbreak_lab.preference import reward_model  # noqa: E402
from firstbreak_lab.preference.settings import sorting  # noqa: E402


@pytest.mark.trainer
def test_it_orders_fresh_pairs_and_swapped_labels_turn_it_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reward_model, "STEPS", 60)
    task = sorting()
    policy = warmed_up(task, 0.05, 0)
    fresh = reward_model.pairs(policy, task, 256, seed=9)
    honest = reward_model.fit(policy, reward_model.pairs(policy, task, 600, seed=0), seed=0)
    reversed_ = reward_model.fit(policy, reward_model.pairs(policy, task, 600, seed=0, swapped=1.0), seed=0)
    assert reward_model.accuracy(honest, fresh) > 0.6
    assert reward_model.accuracy(reversed_, fresh) < 0.4
