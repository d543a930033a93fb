"""Rewards are two or more orders of magnitude larger than the optimiser expects: an unscaled currency, a missing /100.

Chain: returns and value loss grow by the scale and its square -> the critic's gradient fills the clipped norm -> the
actor hardly moves -> evaluation stays low.
Healthy look-alike: large returns with normalised rewards and separate optimisers.
Source: Henderson et al., arXiv:1709.06560; Andrychowicz et al., arXiv:2006.05990.
"""

from typing import Any

from firstbreak_lab import classic

CAUSE = "reward-scale-wrong"
ACCEPTED = {"advantage": "the usual remedy is to normalise the returns"}
ONSET = 0.0
SEVERITIES = {
    "classic/ppo-cartpole": (30.0, 300.0),
    "classic/a2c-cartpole": (30.0, 300.0),
}  #: rewards are multiplied by this


def inject(settings: Any, severity: float, onset: int) -> None:
    """Multiply every reward by `severity`."""
    classic.tamper(settings, onset, lambda: {"reward": lambda reward: severity * reward})
