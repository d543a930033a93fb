"""The settings of a run with a reward model, in addition to those of the language trainer."""

from dataclasses import dataclass, field

from firstbreak_lab.language import settings as language
from firstbreak_lab.language import tasks
from firstbreak_lab.language.tasks import Task, TaskProblem, answer_of


def closeness(problem: TaskProblem, completion: str) -> float:
    """The true quality: the share of right positions. 0 for an answer of another length."""
    answer = answer_of(completion)
    if len(answer) != len(problem.answer):
        return 0.0
    return sum(a == b for a, b in zip(answer, problem.answer, strict=True)) / len(answer)


def sorting() -> Task:
    """Sort five digits, graded by `closeness`."""
    task = tasks.sort()
    return Task("sort", task.make, grade=closeness)


@dataclass(kw_only=True)
class PreferenceSettings(language.LanguageSettings):
    """The settings of one run. The defaults are healthy: enough pairs, right labels, and a KL penalty."""

    pairs: int = 8192  #: preference pairs for the reward model
    swapped: float = 0.0  #: share of the pairs whose chosen and rejected completions are exchanged
    task: Task = field(default_factory=sorting)
    warmup_accuracy: float = 0.5
    reward_weights: dict[str, float] = field(default_factory=lambda: {"reward_model": 1.0})
    kl_ctl: float = 0.3
    lr: float = 3e-4


def grpo() -> PreferenceSettings:
    """GRPO with a reward model."""
    return PreferenceSettings()
