"""What a run against a reward model may be told beyond what the language trainer may."""

from __future__ import annotations

from dataclasses import dataclass, field

from firstbreak.lab.language import settings as language
from firstbreak.lab.language import tasks
from firstbreak.lab.language.tasks import Problem, Task, answer_of


def closeness(problem: Problem, completion: str) -> float:
    """The true quality: the share of positions that are right, and nothing for an answer of another length."""
    answer = answer_of(completion)
    if len(answer) != len(problem.answer):
        return 0.0
    return sum(a == b for a, b in zip(answer, problem.answer, strict=True)) / len(answer)


def sorting() -> Task:
    """Sort five digits, judged by closeness."""
    task = tasks.sort()
    return Task("sort", task.make, grade=closeness)


@dataclass(kw_only=True)
class Settings(language.Settings):
    """One run. The defaults are healthy: enough pairs, honest labels, and a penalty that keeps the policy near them."""

    pairs: int = 8192  #: completions compared two by two
    swapped: float = 0.0  #: share of the pairs whose chosen and rejected completions are exchanged
    task: Task = field(default_factory=sorting)
    warmup_accuracy: float = 0.5
    reward_weights: dict[str, float] = field(default_factory=lambda: {"reward_model": 1.0})
    kl_ctl: float = 0.3
    lr: float = 3e-4


def grpo() -> Settings:
    """GRPO against a reward model."""
    return Settings()
