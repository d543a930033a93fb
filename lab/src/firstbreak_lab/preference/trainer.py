"""The language trainer with the reward of a reward model."""

from pathlib import Path
from typing import Any

from firstbreak_lab.language import trainer as language
from firstbreak_lab.language.journal import Journal
from firstbreak_lab.language.tasks import TaskProblem
from firstbreak_lab.preference import reward_model
from firstbreak_lab.preference.settings import PreferenceSettings
from firstbreak_lab.score import FinalScores

COMPONENT = "reward_model"


def train(settings: PreferenceSettings, out: Path) -> FinalScores:
    """Train a reward model on pairs of samples of the first policy, then train the policy with it, into the folder `out`."""
    settings.patches.insert(0, lambda trainer: use_reward_model(trainer, settings))
    return language.train(settings, out)


def use_reward_model(trainer: Any, settings: PreferenceSettings) -> None:
    """Train a reward model, and replace the reward functions by the model."""
    pairs = reward_model.pairs(
        trainer.policy, settings.task, settings.pairs, seed=settings.seed, swapped=settings.swapped
    )
    model = reward_model.fit(trainer.policy, pairs, seed=settings.seed)
    _log_quality(trainer.log, model, settings, trainer.policy)

    def score(problems: list[TaskProblem], completions: list[str]) -> dict[str, list[float]]:
        return {COMPONENT: reward_model.scores(model, problems, completions)}

    trainer.workers.score = score


def _log_quality(log: Journal, model: Any, settings: PreferenceSettings, policy: Any) -> None:
    """Log the accuracy of the reward model on new pairs with the same kind of labels as the training pairs."""
    fresh = reward_model.pairs(policy, settings.task, 512, seed=settings.seed + 1, swapped=settings.swapped)
    log.scalar("rm.accuracy", reward_model.accuracy(model, fresh))
