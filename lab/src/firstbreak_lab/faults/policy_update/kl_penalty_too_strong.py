"""The penalty for leaving the reference model outweighs the reward.

Chain: the divergence from the reference stays near 0 -> the advantages are mostly penalty -> reward stops rising
too early.
Healthy look-alike: a learning rate near 0, where the penalty is only a small part of the gradient.
Source: Jiayi-Pan/TinyZero#67; huggingface/trl#204.
"""

from typing import Any

from firstbreak_lab import language, trl

CAUSE = "kl-penalty-too-strong"
ACCEPTED = {"reward": "many trainers subtract the penalty from the reward"}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.3, 1.0, 5.0),
    "language/grpo-add": (0.3, 1.0, 5.0),
    "trl/grpo-sort": (0.5, 2.0, 10.0),
}  #: weight of the divergence; 0.02 is right


def inject(settings: Any, severity: float, onset: int) -> None:
    """Set the weight of the penalty to `severity`."""
    match settings:
        case language.LanguageSettings():
            settings.change(onset, kl_ctl=severity)
        case trl.TrlSettings():
            settings.grpo["beta"] = severity
