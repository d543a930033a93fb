"""Tokens that were sampled from the policy surprise it as much as its entropy says, on average.

For tokens drawn from p, the mean of -log p(token) - H(p) is 0. Tokens of a colder distribution lie below, edited tokens and
those of another policy above.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.inside.batch import Reading

MIN_TOKENS = 64


def measure(
    logps: np.ndarray, entropies: np.ndarray, mask: np.ndarray, fresh: bool, exact: bool = True
) -> Mapping[str, Reading]:
    """The gap in nats a token, and in standard errors. `exact`: the sampler neither cuts the distribution nor reweighs it."""
    used = mask != 0
    if not fresh or not exact or used.sum() < MIN_TOKENS:
        return {}
    off = (-logps - entropies)[used]
    spread = max(float(off.std()), 0.05)
    return {"sampling_gap": float(off.mean()), "sampling_z": float(off.mean() / spread * np.sqrt(len(off)))}
