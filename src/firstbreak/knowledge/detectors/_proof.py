"""What an identity that failed says: since when, how far, and where."""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import critical, seen_since
from firstbreak.engine.stats.normal import t_to_z
from firstbreak.engine.stats.proportion import wilson
from firstbreak.model import Config, Fact, Finding, Interval, Series
from firstbreak.words import number

LASTING = 0.5  #: share of the measurements since the first that failed which must fail (convention)
MIN_POINTS = 3  #: measurements of which a mean and its error are told
FEWEST, MOST = 4, 1e6  #: rows of which a share is told
SURE = 0.998  #: level of the interval of a share
SMALL = 0.02  #: nats a token: what lies below has many explanations (convention)


def proved(
    curve: Series, config: Config, what: str, *, above: float | None = None, below: float | None = None
) -> Finding | None:
    """The finding that a curve of the recorder lies above (or below) a limit from some update on; None where it does not.

    `what` is a template with `{value}`, the first number that failed. The place comes from the recorder.
    """
    points = curve.finite
    failed = points.values > above if above is not None else points.values < below
    if not failed.any() or float(np.mean(failed[int(np.argmax(failed)) :])) < LASTING:
        return None
    first = int(np.argmax(failed))
    step = float(points.steps[first])
    since = float(points.steps[first - 1]) if first else step
    return _finding(points, config, what, facts.first(points.between(step)), (since, step))


def share_proved(curve: Series, rows: Series | None, config: Config, what: str, above: float) -> Finding | None:
    """The finding that a share of all rows since the first measurement above a limit lies above it by more than its sampling
    error. `rows`: how many each share is of (`FEWEST` where that is not recorded)."""
    points = curve.finite
    if not (points.values > above).any():
        return None
    first = int(np.argmax(points.values > above))
    counted = {} if rows is None else dict(zip(rows.finite.steps, rows.finite.values, strict=True))
    each = np.clip([counted.get(step, FEWEST) for step in points.steps[first:]], 1, MOST)
    both = zip(np.cumsum(np.round(each * points.values[first:].clip(0, 1))), np.cumsum(each), strict=True)
    beyond = [wilson(int(hits), int(of), SURE)[0] > above for hits, of in both]
    since, began = (float(points.steps[i]) for i in (max(first - 1, 0), first))
    if not beyond[-1]:
        return None
    step = float(points.steps[first + beyond.index(True)])
    return _finding(points, config, what, facts.mean(points.between(began)), (since, step))


def on_average(curve: Series, config: Config, what: str, *, above: float, clear: float) -> Finding | None:
    """The finding that the mean lies above a limit, and so many standard errors above 0, from the first measurement on."""
    points = curve.finite
    n = np.arange(1, len(points) + 1)
    mean = np.cumsum(points.values) / n
    spread = np.cumsum((points.values - (middle := points.values[:1])) ** 2) / n - (mean - middle) ** 2
    error = np.sqrt(np.maximum(spread, 0) / np.maximum(n - 1, 1))
    for i in np.flatnonzero((n >= MIN_POINTS) & (mean > above) & (mean > clear * error)):
        if t_to_z(float(mean[i]) / max(float(error[i]), 1e-12), int(i)) > clear:
            began, step = float(points.steps[0]), float(points.steps[i])
            return _finding(points, config, what, facts.mean(points.between(began, step)), (began, step))
    return None


def _finding(points: Series, config: Config, what: str, value: Fact, interval: Interval) -> Finding:
    """It is proved at the end of the interval."""
    step = interval[1]
    place = config.raw.get(points.name)
    message = facts.tell(
        what + (" Seen at {step}{place}" if what.endswith("?") else ". Proved at {step}{place}"),
        value=value,
        step=facts.at(points, step),
        place=f": {place.rpartition(' (step ')[0]}" if isinstance(place, str) else "",
    )
    seen = seen_since(points, points.name.removeprefix("proof.").replace("_", " "), step, interval)
    return critical(message, seen)


def total(curve: Series) -> np.ndarray:
    """z-scores of measurements up to each of them, added up."""
    values = curve.finite.values
    return np.cumsum(values) / np.sqrt(np.arange(1, len(values) + 1))


def summed(curve: Series, gap: Series | None, limit: float) -> Finding | None:
    """The finding that z-scores add up to more than a limit (below it, where it is negative), and the gap is no small one."""
    points = curve.finite
    sign = 1.0 if limit > 0 else -1.0
    beyond = sign * total(points) > abs(limit)
    sizes = gap.finite if gap is not None else None
    if not beyond.any() or sizes is None or sign * float(np.mean(sizes.values)) < SMALL:
        return None
    step = float(points.steps[int(np.argmax(beyond))])
    what = (
        "samples are {side} probable than the policy's entropy says, by {gap} nats a token, in all measured batches "
        f"together {number(float((sign * total(points)).max()))} standard errors: compare sampler and trainer. Proved at {{step}}"
    )
    message = facts.tell(what, side="less" if sign > 0 else "more", gap=facts.mean(sizes), step=facts.at(points, step))
    return critical(
        message,
        seen_since(
            points, "surprise less entropy, in standard errors", step, (float(points.steps[0]), step), level=0.0
        ),
    )
