"""The completions of a prompt are nearly the same: a shared seed, a cache, a temperature near 0.

Chain: few distinct completions -> equal rewards in most groups -> advantages of 0 -> nothing is learned.
Healthy look-alike: a solved task. The completions agree because they are right.
Source: modelscope/ms-swift#4570; huggingface/trl#3857.
"""

from typing import Any

CAUSE = "samples-without-variety"
ACCEPTED = {"exploration": "nothing different is tried"}
ONSET = 0.0
SEVERITIES = {"language/grpo-sort": (2, 4, 8), "language/grpo-add": (2, 4, 8)}  #: equal completions of a prompt, of 8


def inject(settings: Any, severity: float, onset: int) -> None:
    """Replace each block of `severity` completions of a prompt by copies of its first completion."""

    def patch(trainer: Any) -> None:
        import torch

        honest = trainer.engine.write
        copies = int(severity)

        def write(batch: Any, until: int, options: Any) -> None:
            honest(batch, until, options)
            if trainer.step >= onset:
                rows = torch.arange(len(batch.problems)) // copies * copies
                batch.tokens, batch.behave_logp = batch.tokens[rows], batch.behave_logp[rows]

        trainer.engine.write = write

    settings.patches.append(patch)
