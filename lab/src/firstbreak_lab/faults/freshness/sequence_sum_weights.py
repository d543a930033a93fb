"""Behaviour weights are taken over whole sequences: the log-ratios of all tokens are summed before the exponential.

Chain: small differences add up -> weights grow with length and spread over orders of magnitude -> few sequences
dominate the gradient -> learning becomes slow or unstable, although each token is nearly on-policy.
Healthy look-alike: sequence-level methods that average the log-ratio over the length (GSPO).
Source: NVIDIA-NeMo/RL#2269; Zheng et al., arXiv:2507.18071.
"""

from typing import Any

from firstbreak_lab import language

CAUSE = "behaviour-weights-uncapped"
ACCEPTED = {"policy_update": "how the weight is formed belongs to the loss"}
ONSET = 0.0
SEVERITIES = {"language/async-sort": (2, 4, 8)}  #: largest age of rollouts, in policy versions


def inject(settings: Any, severity: float, onset: int) -> None:
    """Weight every token by the product of the ratios of its sequence, on rollouts up to `severity` versions old."""
    settings.max_head_offpolicyness = int(severity)
    settings.behave_imp_weight_cap = None
    settings.lr = 1e-3

    def patch(trainer: Any) -> None:
        per_token = trainer.policy_loss

        def over_sequences(logp: Any, proximal: Any, behave: Any, advantages: Any, mask: Any, **options: Any) -> Any:
            summed = ((proximal - behave) * mask).sum(1, keepdim=True)
            return per_token(logp, proximal, proximal - summed, advantages, mask, **options)

        trainer.policy_loss = language.from_step(trainer, onset, per_token, over_sequences)

    settings.patches.append(patch)
