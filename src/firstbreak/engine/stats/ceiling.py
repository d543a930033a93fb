"""Where is a curve heading, how much is left to gain, and when does it hit a wall?"""

import numpy as np

from firstbreak.engine.stats.noise import autocorrelation, effective_size
from firstbreak.engine.stats.points import block_means, points, rescale
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.smooth import without_spikes
from firstbreak.model import Interval, Series
from firstbreak.values import dataclass

MIN_POINTS = 8
BLOCKS = 200
SPEEDS = np.geomspace(0.02, 1000, 90)  # time constants, in spans of the curve: from a jump to a straight line
CHI2_95 = 3.84
#: share of the gain so far, by whether the curve still rises: how far the second half of a healthy run leaves the laws that
#: were fitted to its first half, 90 % quantile with the trainer left out (LOG.md, Statistics and scores)
WANDER = {True: 0.25, False: 0.05}


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlook:
    """A saturating law in every version that the points allow; a forecast is the best one and the range of all.

    The laws a + b g(x) approach an asymptote exponentially, g = 1 - exp(-x / tau), or as a power, g = x / (x + tau), the
    upper half of the sigmoid that RL on language models follows (ScaleRL, arXiv:2510.13786). Arrays are (2, k): the law
    by the time constant. Levels are on the scale of the rescaled curve.
    """

    span: float  #: last step - first step
    centre: float
    scale: float
    start: np.ndarray  #: a
    rise: np.ndarray  #: b: asymptote - a
    rise_error: np.ndarray  #: standard error of b
    middle: np.ndarray  #: mean g of the points: there the level is known best
    likelihood: np.ndarray  #: of each version, 1 for the best

    def at(self, ahead: float) -> tuple[float, Interval]:
        """Expected level `ahead` steps after the last one, and its 95 % range."""
        grown = self._grown(ahead)
        return self._forecast(self.start + self.rise * grown, grown - self.middle, self.centre)

    def gain(self, ahead: float) -> tuple[float, Interval]:
        """Realistic upside: expected further change over the next `ahead` steps, and its 95 % range."""
        grown = self._grown(ahead) - self._grown(0.0)
        return self._forecast(self.rise * grown, grown, 0.0)

    @property
    def asymptote(self) -> tuple[float, Interval]:
        """Where it ends if nothing changes."""
        return self.at(float("inf"))

    @property
    def share(self) -> float:
        """Share of the way from the first level to the asymptote that is done, by the best version."""
        return float(self._grown(0.0).flat[np.argmax(self.likelihood)])

    def _grown(self, ahead: float) -> np.ndarray:
        return _grown(np.array([1 + max(0.0, ahead) / self.span]))[..., 0]

    def _forecast(self, value: np.ndarray, lever: np.ndarray, centre: float) -> tuple[float, Interval]:
        allowed = self.likelihood >= np.exp(-CHI2_95 / 2)
        allowed[:, 1:] |= allowed[:, :-1].copy()  # the true time constant may lie between two of the grid
        allowed[:, :-1] |= allowed[:, 1:].copy()
        reach = 1.96 * self.rise_error * np.abs(lever)
        ends = (value.flat[np.argmax(self.likelihood)], (value - reach)[allowed].min(), (value + reach)[allowed].max())
        best, low, high = (centre + self.scale * float(v) for v in ends)
        return best, (low, high)


def outlook(curve: Series | np.ndarray) -> Outlook | None:
    """Fit the saturating laws; None below 8 points or for a constant. Meant for a curve that neither peaked nor jumped."""
    steps, values = points(curve)
    z, centre, scale = rescale(values)
    if len(z) < MIN_POINTS or not z.any() or steps[0] == steps[-1]:
        return None
    span = float(steps[-1] - steps[0])
    y, _ = block_means(without_spikes(z), BLOCKS)
    x, _ = block_means((steps - steps[0]) / span, BLOCKS)
    g = _grown(x)
    middle = g.mean(axis=-1)
    g = g - middle[..., None]
    power = np.maximum(np.sum(g**2, axis=-1), 1e-24)
    rise = g @ y / power
    rss = np.maximum(np.sum((y - y.mean()) ** 2) - rise**2 * power, 1e-24)
    best = np.unravel_index(np.argmin(rss), rss.shape)
    rho = max(0.0, autocorrelation(y - y.mean() - rise[best] * g[best], fitted=3))
    share = max(4.0, effective_size(len(y), rho)) / len(y)  # of the points that count as independent
    variance = rss[best] / (len(y) - 3)
    return Outlook(
        span=span,
        centre=centre,
        scale=scale,
        start=y.mean() - rise * middle,
        rise=rise,
        rise_error=np.sqrt(variance / share / power),
        middle=middle,
        likelihood=np.exp(-(rss - rss[best]) * share / variance / 2),
    )


def expected_gain(curve: Series, shape: Trajectory, ahead: float, ceiling: float | None = None) -> Interval | None:
    """Range of the change of a curve over the next `ahead` steps that holds what happens in 90 % of the runs.

    The range of the laws is widened by `WANDER` of the gain so far, since real curves leave their law, and by the error of
    the present level. It ends at `ceiling`, where that is known. None where no law can be fitted.
    """
    view = outlook(curve)
    if view is None:
        return None
    _, (low, high) = view.gain(ahead)
    reach = WANDER[shape.kind == "rising"] * shape.gain * float(np.sqrt(ahead / view.span)) + 2 * shape.level_noise
    room = float("inf") if ceiling is None else max(0.0, ceiling - shape.end)
    return min(low - reach, room), min(high + reach, room)


def arrival(curve: Series | np.ndarray, wall: float, horizon: float = 10.0) -> Interval | None:
    """Steps from now until the curve meets `wall`: (earliest, latest), latest infinite where it may never arrive.

    (0, 0): it cannot be told from the wall now. None where it is not expected there within `horizon` times the observed
    span, or nothing can be said.
    """
    view = outlook(curve)
    if view is None:
        return None
    now, (low, high) = view.at(0.0)
    if low <= wall <= high:
        return (0.0, 0.0)
    ahead = np.concatenate([[0.0], np.geomspace(1e-3, horizon, 120)]) * view.span
    forecasts = [view.at(float(step)) for step in ahead]
    up = wall > now
    expected = np.array([level for level, _ in forecasts])
    first, last = np.array([ends[::-1] if up else ends for _, ends in forecasts]).T
    there = [np.flatnonzero(level >= wall if up else level <= wall) for level in (first, expected, last)]
    if not len(there[1]):
        return None
    earliest = ahead[there[0][0] - 1]  # the grid is coarse: the crossing lies between this point and the next
    return float(earliest), float(ahead[there[2][0]]) if len(there[2]) else float("inf")


def _grown(x: np.ndarray) -> np.ndarray:
    """Share of the way to the asymptote at x (n,), for both laws and every time constant: (2, k, n)."""
    tau = SPEEDS[:, None]
    return np.stack([-np.expm1(-x / tau), 1 / (1 + tau / np.maximum(x, 1e-12))])
