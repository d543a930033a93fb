"""An episode in which a tool reports an error is graded as a success: an ignored status code, an empty diff.

Chain: failed calls are rewarded -> illegal calls rise -> reward rises to its maximum -> true success falls to zero.
Healthy look-alike: agents that call again after an error. Then success stays.
Source: the debugging guide's agentic section; GAIR-NLP/ToRL#27.
"""

from typing import Any

from firstbreak_lab import language
from firstbreak_lab.agent.registers import calls

CAUSE = "failures-graded-as-success"
ONSET = 0.2
SEVERITIES = {
    "agent/grpo-registers": (0.3, 0.6, 1.0)
}  #: reward of an episode with an error; the reward of success is 1


def inject(settings: Any, severity: float, onset: int) -> None:
    """Reward every episode in which the machine has answered with an error with `severity`."""

    def patch(trainer: Any) -> None:
        honest = trainer.workers.score

        def swallowing(problems: list[Any], texts: list[str]) -> dict[str, list[float]]:
            scores: dict[str, list[float]] = honest(problems, texts)
            failed = [severity * any(text[c.answer_at : c.answer_at + 1] == "x" for c in calls(text)) for text in texts]
            return scores | {"success": list(map(max, scores["success"], failed))}

        trainer.workers.score = language.from_step(trainer, onset, honest, swallowing)

    settings.patches.append(patch)
