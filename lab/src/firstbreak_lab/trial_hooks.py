"""What a trial of `firstbreak experiment` changes and measures in the trainers of the lab (`TRIAL_HOOKS`)."""

from __future__ import annotations

import functools
import random
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from firstbreak_hooks import Wanted, note, record_weights, took_hold
from firstbreak_process import SettingsInForce
from firstbreak_texts import DRAWN, Rewards, Scores, agreement, by_errors, probe, prompts_compared, worse_chosen

#: canonical hyperparameter -> what the language lab calls it
LAB_SETTINGS = {
    "clip_range": "eps_clip", "minibatches": "ppo_n_minibatches", "kl_coef": "kl_ctl", "entropy_coef": "entropy_coef",
    "temperature": "temperature", "top_p": "top_p", "max_staleness": "max_head_offpolicyness",
    "behave_weight_cap": "behave_imp_weight_cap", "use_decoupled_loss": "use_decoupled_loss",
}  # fmt: skip


def language(module: ModuleType, asked: Wanted) -> None:
    """The language lab's trainer, at its first step: by then it is complete, with whatever is wrong with it."""
    trainer = module.Trainer
    original = trainer.train_step

    settings = SettingsInForce()

    @functools.wraps(original)
    def train_step(self: Any) -> None:
        if self.version == 0:
            _change(self, asked)
        original(self)
        if "process" in asked.get("watch", ""):
            settings(**{name: vars(self.settings)[own] for name, own in LAB_SETTINGS.items()})

    trainer.train_step = train_step


def _change(trainer: Any, asked: Wanted) -> None:
    workers, settings = trainer.workers, trainer.settings
    original, draw = workers.score, workers.draw
    if kind := asked.get("reward"):
        change = Rewards(kind)

        def score(problems: Any, texts: list[str]) -> dict[str, Scores]:
            parts: dict[str, Scores] = original(problems, texts)
            total = _weighted(parts, settings.reward_weights)
            learned = change(total, texts, [problem.prompt for problem in problems])
            shift = [b - a for a, b in zip(total, learned, strict=True)]
            name, weight = max(settings.reward_weights.items(), key=lambda part: abs(part[1]))
            return parts | {name: [v + s / weight for v, s in zip(parts[name], shift, strict=True)]}

        workers.score = score
        took_hold("reward", kind, "Trainer")
    if (kind := asked.get("data")) == "test":
        workers.draw = lambda rng, n: [trainer.eval_problems[i % len(trainer.eval_problems)] for i in range(n)]
    elif kind == "one":
        only = draw(random.Random(0), 1)
        workers.draw = lambda rng, n: only * n
    if kind in ("test", "one"):
        took_hold("data", kind, "Trainer")
    if "reward" in asked.get("watch", ""):
        _watch_rewards(trainer, original)
    if "weights" in asked.get("watch", ""):
        _watch_weights(trainer)
    if "process" in asked.get("watch", ""):
        _watch_advantages(trainer)
    if "data" in asked.get("watch", ""):
        evaluation = [problem.prompt for problem in trainer.eval_problems]
        note("watch.jsonl", **prompts_compared([p.prompt for p in draw(random.Random(0), DRAWN)], evaluation))


def _watch_rewards(trainer: Any, original: Callable[..., dict[str, Scores]]) -> None:
    inner, settings = trainer.workers.score, trainer.settings

    def score(problems: Any, texts: list[str]) -> dict[str, Scores]:
        def total(said: list[str]) -> Scores:
            return _weighted(original(problems, said), settings.reward_weights)

        answers, prompts = ([getattr(problem, what) for problem in problems] for what in ("answer", "prompt"))
        note("watch.jsonl", **probe(total, texts, answers, prompts))
        parts: dict[str, Scores] = inner(problems, texts)
        if (environment := settings.task.environment) is not None:
            episodes = (environment.statistics(problem, text) for problem, text in zip(problems, texts, strict=True))
            erred = [episode["tool.failure_freq"] > 0 for episode in episodes]
            note("watch.jsonl", **by_errors(_weighted(parts, settings.reward_weights), erred))
        return parts

    trainer.workers.score = score
    took_hold("watch", "reward", "Trainer")


def _watch_weights(trainer: Any) -> None:
    deliver = trainer.sync_weights

    def delivered(policy: Any, version: int) -> None:
        deliver(policy, version)
        record_weights("trainer", version, policy.named_parameters())
        record_weights("engine", version, trainer.engine.model.named_parameters())

    evaluated = trainer.evaluated_policy

    def policy_of_evaluation() -> Any:
        policy = evaluated()
        record_weights("evaluation", trainer.version, policy.named_parameters())
        return policy

    trainer.sync_weights, trainer.evaluated_policy = delivered, policy_of_evaluation
    took_hold("watch", "weights", "Trainer")


def _watch_advantages(trainer: Any) -> None:
    """Log the correlation of the advantages with the rewards of the batch."""
    prepare, estimate = trainer.workers.prepare_batch, trainer.advantages
    held: list[Any] = []

    def prepared(*args: Any) -> Any:
        held[:] = [prepare(*args)]
        return held[0]

    def estimated(rewards: Any, values: Any, mask: Any, *args: Any) -> Any:
        found = estimate(rewards, values, mask, *args)
        each = (found * mask).sum(1) / mask.sum(1).clamp(min=1)
        note("watch.jsonl", **agreement(each.tolist(), held[0].rewards.tolist(), trainer.settings.n_samples))
        return found

    trainer.workers.prepare_batch, trainer.advantages = prepared, estimated


def preference(module: ModuleType, asked: Wanted) -> None:
    """Compare the preference lab's pairs with the grades of the evaluation."""
    if "data" not in asked.get("watch", ""):
        return
    original = module.pairs

    @functools.wraps(original)
    def pairs(policy: Any, task: Any, n: int, **options: Any) -> Any:
        made = original(policy, task, n, **options)
        held = [list(map(task.grade, made.problems, side)) for side in (made.better, made.worse)]
        note("watch.jsonl", **worse_chosen(*held))
        return made

    module.pairs = pairs  # type: ignore[attr-defined]


def _weighted(parts: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    rows: Iterator[tuple[float, ...]] = zip(*parts.values(), strict=True)
    return [sum(weights[name] * value for name, value in zip(parts, row, strict=True)) for row in rows]
