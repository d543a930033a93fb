"""Where is a curve heading, how much is left to gain, and when does it hit a wall?"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstbreak.model import Interval, Series
from firstbreak.stats.noise import autocorrelation, effective_size
from firstbreak.stats.points import block_means, points, rescale

MIN_POINTS = 8
BLOCKS = 200
CHI2_95 = 3.84


@dataclass(frozen=True, kw_only=True, eq=False)
class Outlook:
    """A saturating law in every version that the points allow; a forecast is the best one and the range of all.

    The laws a + b g(x) approach an asymptote exponentially (1 - exp(-x / tau)) or as a power (x / (x + tau)), the
    latter the shape of RL compute scaling (ScaleRL, arXiv:2510.13786) seen from the middle on.
    """

    last: float  #: last step
    span: float  #: last step - first step
    centre: float
    scale: float
    law: np.ndarray  #: (k,) 0 exponential, 1 power
    tau: np.ndarray  #: (k,) in units of the span
    a: np.ndarray  #: (k,) level at the first step
    b: np.ndarray  #: (k,) asymptote - a
    b_error: np.ndarray  #: (k,) standard error of b
    weight: np.ndarray  #: (k,) likelihood, best = 1

    def at(self, ahead: float) -> tuple[float, Interval]:
        """Expected level `ahead` steps after the last one, and its 95 % range."""
        x = 1 + max(0.0, ahead) / self.span if np.isfinite(ahead) else np.inf
        grown = _grown(x, self.law, self.tau)
        middle = self.a + self.b * grown
        reach = 1.96 * self.b_error * grown
        allowed = self.weight >= np.exp(-CHI2_95 / 2)
        best = int(np.argmax(self.weight))
        low, high = float((middle - reach)[allowed].min()), float((middle + reach)[allowed].max())
        level, low, high = (self.centre + self.scale * v for v in (float(middle[best]), low, high))
        return level, (low, high)

    @property
    def asymptote(self) -> tuple[float, Interval]:
        """Where it ends if nothing changes."""
        return self.at(float("inf"))

    @property
    def share(self) -> float:
        """Share of the way from the first level to the asymptote that is done, by the best law."""
        best = int(np.argmax(self.weight))
        return float(_grown(1.0, self.law, self.tau)[best])

    def gain(self, ahead: float) -> tuple[float, Interval]:
        """Realistic upside: expected further change over the next `ahead` steps, and its 95 % range."""
        now, _ = self.at(0.0)
        then, (low, high) = self.at(ahead)
        return then - now, (low - now, high - now)


def outlook(curve: Series | np.ndarray) -> Outlook | None:
    """Fit the saturating laws; None below 8 points or for a constant."""
    steps, values = points(curve)
    z, centre, scale = rescale(values)
    if len(z) < MIN_POINTS or not z.any() or steps[0] == steps[-1]:
        return None
    span = float(steps[-1] - steps[0])
    y, _ = block_means(z, BLOCKS)
    x, _ = block_means((steps - steps[0]) / span, BLOCKS)
    tau = np.tile(np.geomspace(0.02, 20, 40), 2)
    law = np.repeat([0, 1], 40)
    g = np.array([_grown(x, np.array(kind), np.array(t)) for kind, t in zip(law, tau, strict=True)])
    g_mean = g.mean(axis=1, keepdims=True)
    power = np.maximum(np.sum((g - g_mean) ** 2, axis=1), 1e-300)
    b = ((g - g_mean) @ y) / power
    a = y.mean() - b * g_mean[:, 0]
    rss = np.maximum(np.sum((y - a[:, None] - b[:, None] * g) ** 2, axis=1), 1e-300)
    best = int(np.argmin(rss))
    rho = max(0.0, autocorrelation(y - a[best] - b[best] * g[best], fitted=3))
    n_eff = max(4.0, effective_size(len(y), rho))
    variance = rss[best] / len(y)
    weight = np.exp(-(rss - rss[best]) / variance / 2 * n_eff / len(y))
    error = np.sqrt(variance * len(y) / n_eff / power)
    return Outlook(
        last=float(steps[-1]),
        span=span,
        centre=centre,
        scale=scale,
        law=law,
        tau=tau,
        a=a,
        b=b,
        b_error=error,
        weight=weight,
    )


def arrival(curve: Series | np.ndarray, wall: float, horizon: float = 10.0) -> Interval | None:
    """Steps from now until the curve meets `wall`: (earliest, latest), latest infinite where it may never arrive.

    None where it does not head there within `horizon` times the observed span, or cannot be measured. (0, 0): now.
    """
    view = outlook(curve)
    if view is None:
        return None
    now, _ = view.at(0.0)
    side = np.sign(wall - now)
    if side == 0:
        return (0.0, 0.0)
    ahead = np.concatenate([[0.0], np.geomspace(1e-3, horizon, 200)]) * view.span
    reached = [(view.at(float(d))[1]) for d in ahead]
    near = np.array([(high if side > 0 else low) for low, high in reached])
    far = np.array([(low if side > 0 else high) for low, high in reached])
    early, late = np.flatnonzero(side * (near - wall) >= 0), np.flatnonzero(side * (far - wall) >= 0)
    if not len(early):
        return None
    return (float(ahead[early[0]]), float(ahead[late[0]]) if len(late) else float("inf"))


def _grown(x: np.ndarray | float, law: np.ndarray, tau: np.ndarray) -> np.ndarray:
    """Share of the way to the asymptote at x, in [0, 1]."""
    with np.errstate(invalid="ignore"):
        power = np.where(np.isinf(x), 1.0, x / (x + tau))
    return np.where(law == 0, -np.expm1(-x / tau), power)
