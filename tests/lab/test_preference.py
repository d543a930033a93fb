"""The reward model learns what its labels say."""

import random
from typing import Any

import pytest

from tests.lazy import lazy

torch = lazy("torch")
model = lazy("firstbreak_lab.language.model")
reward_model = lazy("firstbreak_lab.preference.reward_model")
settings = lazy("firstbreak_lab.preference.settings")


@pytest.mark.trainer
def test_it_orders_fresh_pairs_and_swapped_labels_turn_it_round(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of the completions are the right answer, the other half is its first digit."""
    rng = random.Random(0)

    def complete(policy: Any, task: Any, problems: list[Any], *_: Any) -> list[str]:
        return [rng.choice([problem.answer, problem.answer[:1]]) for problem in problems]

    monkeypatch.setattr(reward_model, "complete", complete)
    monkeypatch.setattr(reward_model, "STEPS", 60)
    task = settings.sorting()
    policy = model.Transformer()
    fresh = reward_model.pairs(policy, task, 256, seed=9)
    honest = reward_model.fit(policy, reward_model.pairs(policy, task, 600, seed=0), seed=0)
    reversed_ = reward_model.fit(policy, reward_model.pairs(policy, task, 600, seed=0, swapped=1.0), seed=0)
    assert reward_model.accuracy(honest, fresh) > 0.9
    assert reward_model.accuracy(reversed_, fresh) < 0.1
