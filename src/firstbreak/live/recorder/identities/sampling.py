"""Tokens that were sampled from the policy surprise it as much as its entropy says, on average.

For tokens drawn from p, the mean of -log p(token) - H(p) is 0. Tokens of a colder distribution lie below, edited tokens and
those of another policy above.
"""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

MIN_TOKENS = 64
_RARE = np.geomspace(1e-9, 0.5, 512)  #: probability of the rarer of two tokens
_ENTROPY = -(_RARE * np.log(_RARE) + (1 - _RARE) * np.log1p(-_RARE))  #: of the choice between them
_VARIANCE = _RARE * (1 - _RARE) * np.log((1 - _RARE) / _RARE) ** 2  #: of its surprise


def measure(
    logps: np.ndarray, entropies: np.ndarray, mask: np.ndarray, fresh: bool, exact: bool = True
) -> Mapping[str, Reading]:
    """The gap in nats a token, and in standard errors. `exact`: the sampler neither cuts the distribution nor reweighs it."""
    used = mask != 0
    if not fresh or not exact or used.sum() < MIN_TOKENS:
        return {}
    gap, z = surprise(logps[used], entropies[used])
    return {"sampling_gap": gap, "sampling_z": z}


def surprise(logps: np.ndarray, entropies: np.ndarray) -> tuple[float, float]:
    """How much more than its entropy these tokens (m,) surprise the policy, in nats a token and in standard errors."""
    off = -logps - entropies
    # a nearly certain policy is rarely surprised, and then a lot: the spread of a batch without such a token does not show it
    least = np.sqrt(np.interp(entropies, _ENTROPY, _VARIANCE).mean())
    spread = max(float(off.std()), float(least), 0.05)
    return float(off.mean()), float(off.mean() / spread * np.sqrt(len(off)))
