"""Is there a trend, or is the noise all there is?"""

import numpy as np

from firstbreak.engine.stats.memo import once_a_curve
from firstbreak.engine.stats.noise import autocorrelation, noise_scale, quasi_difference, spread
from firstbreak.engine.stats.normal import quantile, t_to_z, two_sided, z_to_t
from firstbreak.engine.stats.points import block_means, median, points, rescale
from firstbreak.model import Interval, Series
from firstbreak.values import dataclass

MIN_POINTS = 4
BLOCKS = 200  # Theil-Sen looks at every pair: 20,000 of them


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A straight line through a curve and how sure it is. Where nothing is known: infinite interval, p = 1."""

    slope: float  #: per unit of step
    interval: Interval  #: of the slope, at `level`
    p: float  #: two-sided probability of so steep a line if there were no trend
    change: float  #: fitted end - fitted start, in units of the curve
    start: float  #: fitted value at the first step
    noise: float  #: sd of the points about a slow curve
    n: int  #: finite points
    level: float = 0.95

    @property
    def rising(self) -> bool:
        """Up, at the stated confidence."""
        return self.interval[0] > 0

    @property
    def falling(self) -> bool:
        """Down, at the stated confidence."""
        return self.interval[1] < 0

    @property
    def flat(self) -> bool:
        """No trend shown. `interval` says how large a trend could still hide in the noise."""
        return not (self.rising or self.falling)

    @property
    def direction(self) -> int:
        """1, -1 or 0."""
        return self.rising - self.falling

    @property
    def signal_to_noise(self) -> float:
        """|change| in units of the point-to-point noise: below 1 the eye sees no trend even where there is one."""
        if self.noise > 0:
            return abs(self.change) / self.noise
        return float("inf") if self.change else 0.0


@once_a_curve
def trend(curve: Series | np.ndarray, level: float = 0.95) -> Trend:
    """Robust straight line with an interval that holds under autocorrelation. O(n log n).

    Theil-Sen gives residuals; those beyond 3 sd are pulled in (Huber's pseudo-values); generalised least squares with
    the AR(1) of the residuals gives slope and interval. The AR(1) coefficient is taken a standard error larger than
    estimated, and as 1 where it cannot be told from 1 (Perron & Yabu 2009): a random walk is not a trend.
    """
    steps, values = points(curve)
    n = len(values)
    z, centre, scale = rescale(values)
    if n < MIN_POINTS or steps[0] == steps[-1]:
        return _nothing(n, median(values) if n else 0.0, (-np.inf, np.inf), level)
    if not z.any():
        return _nothing(n, centre, (0.0, 0.0), level)
    span = float(steps[-1] - steps[0])
    noise = noise_scale(z)
    y, _ = block_means(z, BLOCKS)
    x, _ = block_means((steps - steps[0]) / span, BLOCKS)
    slope, start = theil_sen(x, y)
    residual = y - start - slope * x
    limit = 3 * spread(residual) if n >= 10 else np.inf
    y = start + slope * x + np.clip(residual, -limit, limit)
    slope, start, error = line_under_ar1(x, y)
    df = len(y) - 2
    reach = z_to_t(quantile(0.5 + level / 2), df) * error
    p = two_sided(t_to_z(slope / error, df)) if error > 0 else float(slope == 0)
    return Trend(
        slope=slope * scale / span,
        interval=((slope - reach) * scale / span, (slope + reach) * scale / span),
        p=p,
        change=slope * scale,
        start=centre + scale * start,
        noise=noise * scale,
        n=n,
        level=level,
    )


def theil_sen(x: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Median slope over all pairs with different x, and the median intercept (Sen 1968). O(n^2): for short arrays."""
    i, j = np.triu_indices(len(x), 1)
    run = x[j] - x[i]
    apart = run > 0
    slope = median((y[j] - y[i])[apart] / run[apart]) if apart.any() else 0.0
    return slope, median(y - slope * x)


def _nothing(n: int, start: float, interval: Interval, level: float) -> Trend:
    return Trend(slope=0.0, interval=interval, p=1.0, change=0.0, start=start, noise=0.0, n=n, level=level)


def line_under_ar1(x: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Slope, intercept, and standard error of the slope."""
    design = np.column_stack([np.ones_like(x), x])
    rho = autocorrelation(y - design @ np.linalg.lstsq(design, y, rcond=None)[0], fitted=2)
    rho += np.sqrt(max(0.0, 1 - rho**2) / len(y))
    rho = 1.0 if rho > 1 - 1 / np.sqrt(len(y)) else max(0.0, rho)
    white = quasi_difference(np.column_stack([design, y]), rho)
    if rho < 1:  # at 1 the constant is gone: the slope is the mean difference
        one = white[:, 0] / np.linalg.norm(white[:, 0])
        white -= np.outer(one, one @ white)
    _, run, rise = white.T
    power = float(run @ run)
    slope = float(run @ rise) / power
    error = float(np.linalg.norm(rise - slope * run)) / float(np.sqrt((len(y) - 2) * power))
    return slope, float(np.mean(y - slope * x)), error
