"""Nucleus sampling cuts the tail off, while the trainer scores the whole vocabulary.

Chain: unlikely tokens are never tried -> completions of a prompt agree -> groups carry no signal; truncated behaviour
with untruncated probabilities biases the update -> the evaluation, which samples freely, falls.
Healthy look-alike: a policy that sharpens because it has learned.
Source: huggingface/trl#6789; modelscope/ms-swift#8442.
"""

from __future__ import annotations

from typing import Any

CAUSE = "sampling-differs-from-scoring"
ONSET = 0.0
SEVERITIES = {
    "language/grpo-sort": (0.9, 0.7, 0.4),
    "language/grpo-add": (0.9, 0.7, 0.4),
}  #: probability that nucleus sampling keeps


def inject(settings: Any, severity: float, onset: int) -> None:
    """Sample with top_p = `severity`."""
    settings.change(onset, top_p=severity)
