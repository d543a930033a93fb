"""The sampler cannot end a completion: a wrong stop id, min_new_tokens, a processor that masks the end of sequence.

Chain: completions reach the length limit -> the text after the answer makes the answer wrong -> reward falls at once,
lengths stay at the limit; the trainer gets tokens that are very improbable under its policy.
Healthy look-alike: a length bonus in the reward, which makes completions longer gradually.
Source: huggingface/trl#235, #925, #3750.
"""

from typing import Any

CAUSE = "sampler-differs-from-policy"
ONSET = 0.3
SEVERITIES = {
    "language/grpo-sort": (2.0, 5.0, 20.0),
    "language/grpo-add": (2.0, 5.0, 20.0),
}  #: subtracted from the logit of the end of sequence, in the sampler only


def inject(settings: Any, severity: float, onset: int) -> None:
    """Lower the engine's logit of the end of sequence by `severity`."""

    def patch(trainer: Any) -> None:
        from firstbreak_lab.language.model import EOS

        def suppress(module: Any, inputs: Any, logits: Any) -> None:
            if trainer.step >= onset:
                logits[..., EOS] -= severity

        trainer.engine.model.register_forward_hook(suppress)

    settings.patches.append(patch)
