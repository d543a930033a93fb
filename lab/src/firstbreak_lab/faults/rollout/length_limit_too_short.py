"""The length limit cuts right answers off.

Chain: completions are cut before the answer -> they get no reward -> all groups are wrong, no gradient; or the policy
learns to write short guesses.
Healthy look-alike: a limit that is long enough for a right answer. The policy adapts, and accuracy stays.
Source: AReaL's guide (no_eos_ratio above 0.05); huggingface/trl#3248; DAPO, arXiv:2503.14476 (overlong filtering).
"""

from typing import Any

from firstbreak_lab import language, trl

CAUSE = "length-limit-too-short"
ONSET = 0.3
SEVERITIES = {
    "language/grpo-add": (4, 3, 2),
    "language/grpo-sort": (6, 5, 4),
    "agent/grpo-registers": (9, 8),
    "trl/grpo-sort": (5, 4, 3),
}  #: tokens; a right answer needs 3, 5, 9 and 4 tokens, in this order


def inject(settings: Any, severity: float, onset: int) -> None:
    """Set the length limit to `severity` tokens."""
    match settings:
        case language.LanguageSettings():
            settings.change(onset, max_new_tokens=int(severity))
        case trl.TrlSettings():

            def patch(trainer: Any) -> None:
                from transformers import TrainerCallback

                class Limit(TrainerCallback):  # type: ignore[misc]
                    def on_step_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
                        if state.global_step + 1 >= onset:
                            trainer.max_completion_length = int(severity)
                            trainer.generation_config.max_new_tokens = int(severity)

                trainer.add_callback(Limit())

            settings.patches.append(patch)
