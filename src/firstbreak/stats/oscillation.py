"""Does a signed quantity (a policy-gradient loss, a mean advantage) have a direction; did its sign or size jump?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstbreak.model import Series
from firstbreak.stats.noise import autocorrelation, effective_size
from firstbreak.stats.normal import t_to_z, two_sided
from firstbreak.stats.onset import Onset, level_shift
from firstbreak.stats.points import points, rescale

MIN_POINTS = 8


@dataclass(frozen=True, kw_only=True)
class Oscillation:
    """How a curve moves about zero."""

    mean: float
    sd: float
    sign_changes: float  #: share of neighbouring pairs of opposite sign: 0.5 for white noise about zero
    positive: float  #: share of points above zero
    p: float  #: two-sided probability of so large a mean if the true mean were 0 (autocorrelation allowed for)

    @property
    def directionless(self) -> bool:
        """Updates point nowhere: the mean cannot be told from 0 and is small beside the swings."""
        return self.p > 0.05 and abs(self.mean) < 0.5 * self.sd


@dataclass(frozen=True, kw_only=True)
class SignReversal:
    """A quantity that kept one sign and now keeps the other."""

    step: float  #: first point of the new sign
    before: float  #: mean before
    after: float  #: mean from there on


def oscillation(curve: Series | np.ndarray) -> Oscillation | None:
    """Mean against swings; None below 8 points."""
    _, values = points(curve)
    n = len(values)
    if n < MIN_POINTS:
        return None
    top = float(np.max(np.abs(values)))
    if top == 0:
        return Oscillation(mean=0.0, sd=0.0, sign_changes=0.0, positive=0.0, p=1.0)
    z = values / top
    mean, sd = float(z.mean()), float(z.std(ddof=1))
    n_eff = effective_size(n, max(0.0, autocorrelation(z - mean)))
    error = sd / np.sqrt(n_eff)
    signs = np.sign(z[z != 0])
    return Oscillation(
        mean=mean * top,
        sd=sd * top,
        sign_changes=float(np.mean(signs[1:] != signs[:-1])) if len(signs) > 1 else 0.0,
        positive=float(np.mean(z > 0)),
        p=two_sided(t_to_z(mean / error, max(1.0, n_eff - 1))) if error > 0 else 0.0,
    )


def sign_reversal(curve: Series | np.ndarray, purity: float = 0.75) -> SignReversal | None:
    """Where a quantity changed its sign for good: `purity` of the points on either side agree, both means not 0."""
    steps, values = points(curve)
    n = len(values)
    if n < MIN_POINTS or not np.any(values):
        return None
    up = np.concatenate([[0.0], np.cumsum(np.sign(values))])
    at = np.arange(4, n - 3)
    contrast = up[at] / at - (up[-1] - up[at]) / (n - at)
    balance = np.sqrt(at * (n - at)) / n
    split = int(at[np.argmax(np.abs(contrast) * balance)])
    before, after = values[:split], values[split:]
    sign = np.sign(np.median(before))
    if sign == 0 or np.sign(np.median(after)) != -sign:
        return None
    if np.mean(np.sign(before) == sign) < purity or np.mean(np.sign(after) == -sign) < purity:
        return None
    halves = (oscillation_p(before), oscillation_p(after))
    if max(halves) > 0.05:
        return None
    return SignReversal(step=float(steps[split]), before=float(before.mean()), after=float(after.mean()))


def oscillation_p(values: np.ndarray) -> float:
    """Two-sided probability of so large a mean of AR(1) noise about 0."""
    top = float(np.max(np.abs(values), initial=0.0))
    if top == 0 or len(values) < 3:
        return 1.0
    z = values / top
    n_eff = effective_size(len(z), max(0.0, autocorrelation(z - z.mean())))
    error = float(z.std(ddof=1)) / np.sqrt(n_eff)
    return two_sided(t_to_z(float(z.mean()) / error, max(1.0, n_eff - 1))) if error > 0 else 0.0


def magnitude_jump(curve: Series | np.ndarray, factor: float = 2.0) -> Onset | None:
    """A sudden change of size by at least `factor` (doubled or halved); `before` and `after` are typical magnitudes.

    Looked for in the logarithm of |value|, where a factor is a level shift.
    """
    steps, values = points(curve)
    size = np.abs(values)
    if not rescale(size)[0].any():
        return None
    positive = size > 0
    log = np.log(np.maximum(size, size[positive].min()))
    shift = level_shift(Series(name="", steps=steps, values=log))
    if shift is None or abs(shift.after - shift.before) < np.log(factor):
        return None
    old, new = np.median(size[steps < shift.step]), np.median(size[steps >= shift.step])
    return Onset(**{**shift.__dict__, "before": float(old), "after": float(new)})
