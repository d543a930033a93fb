"""The language trainer, whose reward is what a reward model says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from firstbreak.lab.language import trainer as language
from firstbreak.lab.language.journal import Journal
from firstbreak.lab.language.tasks import Problem
from firstbreak.lab.preference import reward_model
from firstbreak.lab.preference.settings import Settings
from firstbreak.lab.score import Score

COMPONENT = "reward_model"


def train(settings: Settings, out: Path) -> Score:
    """Train a reward model on pairs of the first policy's samples, then the policy against it, into the folder `out`."""
    settings.surgery.insert(0, lambda trainer: judge(trainer, settings))
    return language.train(settings, out)


def judge(trainer: Any, settings: Settings) -> None:
    """Put a reward model, trained on the spot, in the place of the reward functions."""
    pairs = reward_model.pairs(
        trainer.policy, settings.task, settings.pairs, seed=settings.seed, swapped=settings.swapped
    )
    model = reward_model.fit(trainer.policy, pairs, seed=settings.seed)
    _log_quality(trainer.log, model, settings, trainer.policy)

    def score(problems: list[Problem], completions: list[str]) -> dict[str, list[float]]:
        return {COMPONENT: reward_model.scores(model, problems, completions)}

    trainer.workers.score = score


def _log_quality(log: Journal, model: Any, settings: Settings, policy: Any) -> None:
    """Share of fresh pairs, labelled as the training pairs were, that the reward model orders as their label does."""
    fresh = reward_model.pairs(policy, settings.task, 512, seed=settings.seed + 1, swapped=settings.swapped)
    log.scalar("rm.accuracy", reward_model.accuracy(model, fresh))
