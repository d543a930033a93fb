"""The decoupled objective is standard PPO and GRPO whenever the data is on-policy."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import pytest

from tests.lazy import lazy

torch = lazy("torch")
objective = lazy("firstbreak_lab.language.objective")
presets = lazy("firstbreak_lab.language.settings")
model = lazy("firstbreak_lab.language.model")
rollout = lazy("firstbreak_lab.language.rollout")
language_trainer = lazy("firstbreak_lab.language.trainer")


class NoJournal:
    """Takes every number and keeps those that a test asks for."""

    def __init__(self) -> None:
        self.scalars: dict[str, list[float]] = {}
        self.stats: dict[str, list[tuple[float, float]]] = {}

    def scalar(self, name: str, value: Any) -> None:
        self.scalars.setdefault(name, []).append(float(value))

    def stat(self, name: str, values: Any, mask: Any = None) -> None:
        counted = values if mask is None else values[mask]
        self.stats.setdefault(name, []).append((float(counted.min()), float(counted.max())))

    def time(self, phase: str) -> Any:
        return contextlib.nullcontext()

    def write(self, step: int) -> None: ...

    def sample(self, **fields: Any) -> None: ...


def small(settings: presets.LanguageSettings) -> presets.LanguageSettings:
    settings.batch_size, settings.n_samples, settings.eval_problems, settings.warmup_accuracy = 8, 4, 8, 0.05
    return settings


def grpo_loss(trainer: language_trainer.Trainer, batch: rollout.RolloutBatch) -> Any:
    """GRPO as in the paper (Shao et al., 2024) with token-level mean (DAPO), written from the formulas."""
    s = trainer.settings
    groups = batch.rewards.view(s.batch_size, s.n_samples)
    outcome = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, unbiased=False, keepdim=True) + 1e-6)).flatten()
    logp, _ = model.log_probs(trainer.policy, batch.tokens, batch.prompt_length)
    mask = batch.mask
    ratio = (logp - batch.behave_logp).exp()
    advantage = outcome[:, None].expand_as(ratio)
    surrogate = torch.maximum(-advantage * ratio, -advantage * ratio.clamp(0.8, 1.2))
    return torch.where(mask, surrogate, 0.0).sum() / mask.sum()


def gae_by_hand(rewards: list[float], values: list[float], gamma: float, lam: float) -> list[float]:
    deltas = [r + gamma * (values[t + 1] if t + 1 < len(values) else 0.0) - values[t] for t, r in enumerate(rewards)]
    return [sum((gamma * lam) ** k * d for k, d in enumerate(deltas[t:])) for t in range(len(deltas))]


@pytest.fixture(autouse=True)
def given_rewards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every other completion is right, whatever the model writes: a barely trained one may write none that is."""

    def scorer(settings: Any) -> Any:
        return lambda _, texts: {name: [float(i % 2) for i in range(len(texts))] for name in settings.rewards}

    monkeypatch.setattr(language_trainer, "scorer", scorer)


@pytest.fixture
def recorded(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every PolicyLoss that the trainer minimises."""
    losses: list[Any] = []
    original = objective.policy_loss

    def spy(*args: Any, **kwargs: Any) -> Any:
        losses.append(original(*args, **kwargs))
        return losses[-1]

    monkeypatch.setattr(objective, "policy_loss", spy)
    return losses


def first_batch(trainer: language_trainer.Trainer) -> rollout.RolloutBatch:
    """The batch that the first step will train on: workers are deterministic."""
    return language_trainer.Trainer(trainer.settings, NoJournal()).workers.prepare_batch(None)  # type: ignore[arg-type]


@pytest.mark.parametrize("recompute", [False, True])
@pytest.mark.parametrize("decoupled", [False, True])
def test_synchronous_loss_is_grpo(recorded: list[Any], recompute: bool, decoupled: bool) -> None:
    settings = small(presets.grpo())
    settings.ppo_n_minibatches, settings.kl_ctl = 1, 0.0
    settings.recompute_logprob, settings.use_decoupled_loss = recompute, decoupled
    trainer = language_trainer.Trainer(settings, NoJournal())  # type: ignore[arg-type]
    batch = first_batch(trainer)
    expected = grpo_loss(trainer, batch)
    trainer.train_step()
    assert set(batch.rewards.tolist()) == {0.0, 1.0}
    assert recorded[0].loss.item() == pytest.approx(
        expected.item(), abs=1e-6
    )  # a sum of terms of about 1, in another order


def test_advantages_are_gae() -> None:
    rewards, values = [0.0, -0.5, 1.0], [0.3, 0.1, 0.7]
    padded = torch.tensor([[*rewards, 9.0]]), torch.tensor([[*values, 9.0]])
    mask = torch.tensor([[True, True, True, False]])
    advantages = objective.gae(*padded, mask, 0.9, 0.8)
    assert advantages[0].tolist() == pytest.approx([*gae_by_hand(rewards, values, 0.9, 0.8), 0.0])


def test_credit_passes_over_what_an_environment_has_written() -> None:
    mask = torch.tensor([[True, True, False, True, False]])  # the agent, the agent, an answer, the agent, padding
    kl = torch.tensor([[0.1, 0.2, 9.0, 0.4, 9.0]])
    rewards = objective.token_rewards(torch.tensor([1.0]), kl, mask)
    assert rewards[0].tolist() == pytest.approx([0.1, 0.2, 0.0, 1.4, 0.0])
    values = torch.tensor([[0.3, 0.1, 9.0, 0.7, 9.0]])
    own = gae_by_hand([0.1, 0.2, 1.4], [0.3, 0.1, 0.7], 0.9, 0.8)
    advantages = objective.gae(rewards, values, mask, 0.9, 0.8)
    assert advantages[0].tolist() == pytest.approx([own[0], own[1], 0.0, own[2], 0.0])


@pytest.mark.parametrize("preset", [presets.grpo, presets.ppo, presets.asynchronous])
def test_one_minibatch_has_importance_weight_exactly_one(preset: Any) -> None:
    settings = small(preset())
    settings.ppo_n_minibatches = 1
    journal = NoJournal()
    trainer = language_trainer.Trainer(settings, journal)  # type: ignore[arg-type]
    for _ in range(3):
        trainer.train_step()
    assert journal.stats["ppo_actor/update/importance_weight"] == [(1.0, 1.0)] * 3


def test_several_minibatches_move_the_importance_weight() -> None:
    settings = small(presets.grpo())
    settings.ppo_n_minibatches = 2
    journal = NoJournal()
    trainer = language_trainer.Trainer(settings, journal)  # type: ignore[arg-type]
    trainer.train_step()
    first, second = journal.stats["ppo_actor/update/importance_weight"]
    assert first == (1.0, 1.0)
    assert second[0] < 1 < second[1]


def test_behaviour_weights_above_the_cap_are_left_out() -> None:
    zeros = torch.zeros(1, 3)
    behave = torch.tensor([[0.0, -3.0, 0.0]])  # the second token is exp(3) = 20 times likelier now than when written
    mask = torch.tensor([[True, True, False]])
    advantages = torch.ones(1, 3)
    options: dict[str, Any] = {"eps_clip": 0.2, "decoupled": True}
    capped = objective.policy_loss(zeros, zeros, behave, advantages, mask, behave_imp_weight_cap=5.0, **options)
    free = objective.policy_loss(zeros, zeros, behave, advantages, mask, behave_imp_weight_cap=None, **options)
    assert capped.loss.item() == -0.5
    assert free.loss.item() == pytest.approx(-(1 + math.exp(3)) / 2)
    assert capped.behave_weight[0, 1].item() == pytest.approx(math.exp(3))
