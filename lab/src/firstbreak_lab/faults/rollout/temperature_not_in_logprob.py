"""The temperatures of sampler and trainer differ: the engine scores its samples at T, the trainer at 1.

Chain: with the same weights, engine and trainer disagree about every token -> the ratio of the first minibatch is not 1
-> clipping from the first step -> reward falls.
Healthy look-alike: staleness, which grows with the version lag; rounding, which is small.
Source: huggingface/trl#3029, #4159; "The N Implementation Details of RLHF with PPO" (2023).
"""

from typing import Any

CAUSE = "sampling-differs-from-scoring"
ACCEPTED = {"freshness": "another policy than the updated one made the data"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.9, 0.7, 0.5),
    "language/ppo-sort": (0.9, 0.7, 0.5),
}  #: temperature of the engine; the trainer assumes 1


def inject(settings: Any, severity: float, onset: int) -> None:
    """Let the engine sample and score at temperature `severity`."""

    def patch(trainer: Any) -> None:
        def cool(module: Any, inputs: Any, logits: Any) -> Any:
            return logits / severity if trainer.step >= onset else logits

        trainer.engine.model.register_forward_hook(cool)

    settings.patches.append(patch)
