"""How large is the noise, and how correlated? RL curves are neither Gaussian nor independent."""

import math

import numpy as np

from firstbreak.engine.stats.memo import kept
from firstbreak.engine.stats.points import median, rescale

SD_PER_MAD = 1.4826  # of a Gaussian
_FREEDOM = np.array([[3.0], [5.0], [10.0], [1000.0]])  # of the t distributions that are tried, and their constants
_LOG_CONSTANT = np.array(
    [math.lgamma((v + 1) / 2) - math.lgamma(v / 2) - math.log(v * math.pi) / 2 for v in _FREEDOM[:, 0]]
)
EQUAL = 1e-9  # of the sd: values closer than this are the same value


def spread(values: np.ndarray) -> float:
    """Robust standard deviation: MAD, or where more than half of the values are equal the plain sd of all of them."""
    if len(values) < 2:
        return 0.0
    z, _, scale = rescale(values)
    mad, sd = median(np.abs(z)), float(np.std(z))
    return scale * (SD_PER_MAD * mad if mad > EQUAL * sd else sd)


def autocorrelation(residuals: np.ndarray, fitted: int = 1) -> float:
    """AR(1) coefficient in [-0.95, 1], outliers clipped, corrected for the bias of small samples.

    Estimated residuals look less correlated than the noise they come from: E[rho] falls short by about
    (fitted + (fitted + 2) rho) / n, where `fitted` counts the fitted parameters (Kendall 1954: 1; Marriott & Pope 1954;
    a linear trend: 2).
    """
    n = len(residuals)
    z, _, _ = rescale(residuals)
    limit = 3 * spread(z)
    if n < 4 or limit == 0:
        return 0.0
    r = np.clip(z, -limit, limit)
    r = r - r.mean()
    raw = float(r[1:] @ r[:-1]) / float(r @ r)
    return float(np.clip(raw + (fitted + (fitted + 2) * raw) / n, -0.95, 1.0))


def noise_scale(values: np.ndarray) -> float:
    """Standard deviation of the noise about a slow trend, robust to trend, jumps and outliers; 0 for a constant."""
    return neighbours(values)[0]


@kept
def neighbours(values: np.ndarray) -> tuple[float, float]:
    """Standard deviation and AR(1) coefficient (0 to 0.9) of the noise about a slow trend, robust to trend, jumps and outliers.

    For AR(1) noise sd(x[t+1] - x[t]) = sd sqrt(2 (1 - rho)), and the differences at lags 1 and 2 tell rho:
    var(x[t+2] - x[t]) / var(x[t+1] - x[t]) = 1 + rho. Neither sees a slow trend: the median takes off its slope. The noise
    is no larger than the spread of the whole curve, which bounds rho too: few points tell it poorly.
    """
    if len(values) < 3:
        return 0.0, 0.0
    z, _, scale = rescale(values)
    first = spread(np.diff(z))
    if first == 0:
        return 0.0, 0.0
    rho = (spread(z[2:] - z[:-2]) / first) ** 2 - 1 if len(z) >= 10 else 0.0
    rho = float(np.clip(rho, 0.0, min(0.9, max(0.0, 1 - first**2 / (2 * float(np.var(z)))))))
    return scale * first / math.sqrt(2 * (1 - rho)), rho


def effective_size(n: int, rho: float) -> float:
    """Number of independent points worth `n` points of AR(1) noise for a mean (Bayley & Hammersley 1946)."""
    rho = float(np.clip(rho, -0.95, 0.999))
    return max(1.0, n * (1 - rho) / (1 + rho)) if n else 0.0


def quasi_difference(columns: np.ndarray, rho: float) -> np.ndarray:
    """Prais-Winsten whitening of AR(1) noise along axis 0: x[t] - rho x[t-1]; the first row times sqrt(1 - rho^2)."""
    white = np.array(columns)
    white[1:] -= rho * columns[:-1]
    white[0] *= math.sqrt(max(0.0, 1 - rho * rho))
    return white


def likely_ar1(residuals: np.ndarray) -> float:
    """Maximum-likelihood AR(1) coefficient in [0, 0.985], not corrected for bias: for likelihood ratios."""
    if len(residuals) < 3:
        return 0.0
    inner, lagged = float(residuals[1:-1] @ residuals[1:-1]), float(residuals[1:] @ residuals[:-1])
    rho = np.linspace(0, 0.985, 80)
    rss = np.maximum(float(residuals @ residuals) - 2 * rho * lagged + rho**2 * inner, 1e-300)
    return float(rho[np.argmin(len(residuals) * np.log(rss) - np.log(1 - rho**2))])


def student_deviance(residuals: np.ndarray, rho: float) -> float:
    """-2 log likelihood of AR(1) noise with Student-t innovations, least over their scale and degrees of freedom.

    The degrees of freedom (3, 5, 10 or 1000) come from the curve itself: where the noise has heavy tails one wild point
    proves little. Scale by the EM algorithm (Lange, Little & Taylor 1989).
    """
    n = len(residuals)
    squares = quasi_difference(residuals, rho)[None, :] ** 2
    mean = float(squares.sum()) / n
    floor = max(0.01 * mean, 1e-24)  # where most values are equal no scale would be small enough
    variance = np.full_like(_FREEDOM, mean + floor)
    more, part = _FREEDOM + 1, np.empty((len(_FREEDOM), n))
    for _ in range(15):
        np.add(_FREEDOM * variance, squares, out=part)
        heavy = np.add.reduce(np.divide(squares, part, out=part), axis=1, keepdims=True)
        variance = np.maximum(more * variance * heavy / n, floor)
    tails = (_FREEDOM[:, 0] + 1) * np.log1p(squares / (_FREEDOM * variance)).sum(axis=1)
    return float(np.min(n * np.log(variance[:, 0]) + tails - 2 * n * _LOG_CONSTANT)) - math.log(1 - rho**2)
