"""Does a signed quantity (a policy-gradient loss, a mean advantage) have a direction; did its sign turn round?"""

import numpy as np

from firstbreak.engine.stats.noise import autocorrelation, effective_size
from firstbreak.engine.stats.normal import t_to_z, two_sided
from firstbreak.engine.stats.points import median, points
from firstbreak.model import Series
from firstbreak.values import dataclass

MIN_POINTS = 8
SIDE = 4  # points of either sign that make a reversal
ZERO = 1e-11  # of the largest magnitude: rounding


@dataclass(frozen=True, kw_only=True)
class Oscillation:
    """How a curve moves about zero."""

    mean: float
    sd: float
    positive: float  #: share of points above zero
    p: float  #: two-sided probability of so large a mean if the true mean were 0 (autocorrelation allowed for)

    @property
    def directionless(self) -> bool:
        """The mean cannot be told from 0, or is there and lost in the swings (signs split 60 to 40 or closer)."""
        small = abs(self.mean) < (0.5 if self.p > 0.05 else 0.25) * self.sd
        return small and self.sd > 0


@dataclass(frozen=True, kw_only=True)
class SignReversal:
    """A quantity that kept one sign and now keeps the other."""

    step: float  #: first point of the new sign
    before: float  #: mean before
    after: float  #: mean from there on


def oscillation(curve: Series | np.ndarray) -> Oscillation | None:
    """Mean against swings; None below 8 points."""
    _, values = points(curve)
    if len(values) < MIN_POINTS:
        return None
    z, top = _unit(values)
    return Oscillation(
        mean=float(z.mean()) * top, sd=float(z.std(ddof=1)) * top, positive=float(np.mean(z > ZERO)), p=_mean_is_zero(z)
    )


def sign_reversal(curve: Series | np.ndarray, purity: float = 0.75) -> SignReversal | None:
    """Where a quantity changed its sign for good: `purity` of the points on either side agree, both means not 0.

    The place is where the shares of positive points before and after differ most (a CUSUM of signs, Page 1955).
    """
    steps, values = points(curve)
    n = len(values)
    if n < 2 * SIDE:
        return None
    z, top = _unit(values)
    sign = np.where(np.abs(z) > ZERO, np.sign(z), 0.0)
    total = np.cumsum(sign)
    at = np.arange(SIDE, n - SIDE + 1)
    excess = np.abs(total[at - 1] - at / n * total[-1]) / np.sqrt(at * (n - at))
    split = int(at[np.argmax(excess)])
    old, new = (float(np.sign(median(side))) for side in (sign[:split], sign[split:]))
    agree = min(np.mean(sign[:split] == old), np.mean(sign[split:] == new))
    if old * new != -1 or agree < purity or max(_mean_is_zero(z[:split]), _mean_is_zero(z[split:])) > 0.05:
        return None
    before, after = float(z[:split].mean()), float(z[split:].mean())
    return SignReversal(step=float(steps[split]), before=before * top, after=after * top)


def _unit(values: np.ndarray) -> tuple[np.ndarray, float]:
    """Values over their largest magnitude, and that magnitude."""
    top = float(np.max(np.abs(values)))
    return (values / top, top) if top > 0 else (np.zeros(len(values)), 1.0)


def _mean_is_zero(z: np.ndarray) -> float:
    """Two-sided probability of so large a mean if the true one were 0."""
    mean, sd = float(z.mean()), float(z.std(ddof=1))
    if sd <= ZERO:
        return float(abs(mean) <= ZERO)
    n_eff = effective_size(len(z), max(0.0, autocorrelation(z - mean)))
    return two_sided(t_to_z(mean / sd * n_eff**0.5, max(1.0, n_eff - 1)))
