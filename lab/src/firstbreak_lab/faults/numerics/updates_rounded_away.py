"""Weights are stored with too few bits, and small updates are lost.

Chain: gradients look normal -> the stored weights change little or in large jumps -> the policy changes at random between
the possible values -> reward stops rising or falls slowly.
Healthy look-alike: a learning rate that is too low. Then nothing jumps.
Source: arXiv:2510.26788; AReaL's note on Adam in bfloat16.
"""

from typing import Any

from firstbreak_lab import language

CAUSE = "updates-rounded-away"
ACCEPTED = {"policy_update": "the steps do not arrive in the weights"}
ONSET = 0.2
SEVERITIES = {"language/grpo-sort": (5, 3, 2), "language/grpo-add": (5, 3, 2)}  #: bits of the mantissa; bfloat16 has 7


def inject(settings: Any, severity: float, onset: int) -> None:
    """Round the policy's weights to `severity` bits of mantissa after every step."""

    def patch(trainer: Any) -> None:
        import torch

        exact = trainer.sync_weights

        def rounded(policy: Any, version: int) -> None:
            with torch.no_grad():
                for tensor in policy.parameters() if settings.precision != "fp32" else ():
                    mantissa, exponent = torch.frexp(tensor)
                    scale = 2.0 ** (severity + 1)
                    tensor.copy_(torch.ldexp((mantissa * scale).round() / scale, exponent))
            exact(policy, version)

        trainer.sync_weights = language.from_step(trainer, onset, exact, rounded)

    settings.patches.append(patch)
