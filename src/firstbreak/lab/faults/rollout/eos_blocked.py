"""The sampler may not end: a wrong stop id, min_new_tokens, a processor that masks the end of sequence.

Chain: completions run into the limit -> the text after the answer spoils it -> reward falls at once, lengths stand at
the limit; the trainer sees tokens that its policy would hardly have written.
Healthy look-alike: a reward that pays for length, which lengthens completions gradually.
Source: huggingface/trl#235, #925, #3750.
"""

from __future__ import annotations

from typing import Any

CAUSE = "sampler-differs-from-policy"
ONSET = 0.3
SEVERITIES = {
    "language/grpo-sort": (2.0, 5.0, 20.0),
    "language/grpo-add": (2.0, 5.0, 20.0),
}  #: taken from the logit of the end of sequence, in the sampler only


def inject(settings: Any, severity: float, onset: int) -> None:
    """Lower the engine's logit of the end of sequence by `severity`."""

    def operate(trainer: Any) -> None:
        from firstbreak.lab.language.model import EOS

        def suppress(module: Any, inputs: Any, logits: Any) -> None:
            if trainer.step >= onset:
                logits[..., EOS] -= severity

        trainer.engine.model.register_forward_hook(suppress)

    settings.surgery.append(operate)
