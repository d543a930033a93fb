"""Tokens that were sampled from the policy surprise it as much as its entropy says, on average.

For tokens drawn from p, the mean of -log p(token) - H(p) is 0. Tokens of a colder distribution lie below, edited tokens and
those of another policy above.
"""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

MIN_TOKENS = 64


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
    spread = max(float(off.std()), float(np.sqrt(_variance(entropies).mean())), 0.05)
    return float(off.mean()), float(off.mean() / spread * np.sqrt(len(off)))


def _binary() -> tuple[np.ndarray, np.ndarray]:
    """Entropy of a choice between two tokens, and the variance of its surprise."""
    rare = np.geomspace(1e-9, 0.5, 512)
    surprise = np.log((1 - rare) / rare)
    return -(rare * np.log(rare) + (1 - rare) * np.log1p(-rare)), rare * (1 - rare) * surprise**2


_ENTROPY, _VARIANCE = _binary()


def _variance(entropies: np.ndarray) -> np.ndarray:
    """The least that a token's surprise varies with this entropy: a nearly certain policy is rarely surprised, and then a lot.

    The spread of a batch without such a token does not show it.
    """
    least: np.ndarray = np.interp(entropies, _ENTROPY, _VARIANCE)
    return least
