"""Nucleus sampling removes improbable tokens, while the trainer scores the full vocabulary.

Chain: improbable tokens are never tried -> completions of a prompt agree -> groups give no gradient; sampling with
top_p and scoring without it biases the update -> the evaluation, which samples without top_p, falls.
Healthy look-alike: a policy whose entropy falls because it has learned.
Source: huggingface/trl#6789; modelscope/ms-swift#8442.
"""

from typing import Any

CAUSE = "sampling-differs-from-scoring"
ACCEPTED = {
    "exploration": "improbable tokens are never tried",
    "freshness": "another policy than the updated one made the data",
}
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.9, 0.7, 0.4),
    "language/grpo-add": (0.9, 0.7, 0.4),
}  #: probability that nucleus sampling keeps


def inject(settings: Any, severity: float, onset: int) -> None:
    """Sample with top_p = `severity`."""
    settings.change(onset, top_p=severity)
