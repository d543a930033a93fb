"""The group baseline is computed over completions of different prompts.

Chain: a completion is compared with answers to easier and harder prompts -> advantages of one prompt do not sum to zero
-> easy prompts are rewarded because they are easy -> the update is noisy, and accuracy falls.
Healthy look-alike: methods that use a baseline over the whole batch by design (REINFORCE++, RLOO variants).
Source: NVIDIA-NeMo/RL#4013; rllm-org/rllm#605.
"""

from typing import Any

from firstbreak_lab import language

CAUSE = "groups-mixed"
ONSET = 0.2
SEVERITIES = {
    "language/grpo-sort": (0.3, 0.7, 1.0),
    "language/grpo-add": (0.3, 0.7, 1.0),
}  #: share of the advantages given to the wrong completions


def inject(settings: Any, severity: float, onset: int) -> None:
    """Shuffle a random share `severity` of the normalised rewards over the batch."""

    def patch(trainer: Any) -> None:
        import torch

        grouped = trainer.normalize_rewards

        def mixed(rewards: Any, group: int) -> Any:
            normalized = grouped(rewards, group)
            moved = (torch.rand(len(rewards)) < severity).nonzero().squeeze(1)
            normalized[moved] = normalized[moved[torch.randperm(len(moved))]]
            return normalized

        trainer.normalize_rewards = language.from_step(trainer, onset, grouped, mixed)

    settings.patches.append(patch)
