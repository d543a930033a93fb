"""What an identity that failed says: since when, how far, and where."""

from __future__ import annotations

import numpy as np

from firstbreak.diagnosis import facts
from firstbreak.model import Confidence, Config, Evidence, Finding, Series, Severity
from firstbreak.words import number

LASTING = 0.5  #: share of the measurements since the first that failed which must fail (convention)
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
    before = points.steps[:first]
    place = config.raw.get(curve.name)
    message = facts.tell(
        what + ". Proved at {step}{place}",
        value=facts.first(points.between(step)),
        step=facts.at(points, step),
        place=f": {place.rpartition(' (step ')[0]}" if isinstance(place, str) else "",
    )
    return Finding(
        message=message,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=points.name,
        onset=step,
        interval=(float(before[-1]) if len(before) else step, step),
        evidence=(Evidence(text=curve.name.removeprefix("proof.").replace("_", " "), series=points, since=step),),
    )


def summed(curve: Series, gap: Series | None, config: Config, limit: float) -> Finding | None:
    """The finding that z-scores add up to more than a limit (below it, where it is negative), and the gap is no small one."""
    points = curve.finite
    sign = 1.0 if limit > 0 else -1.0
    total = sign * np.cumsum(points.values) / np.sqrt(np.arange(1, len(points) + 1))
    beyond = total > abs(limit)
    sizes = gap.finite if gap is not None else None
    if not beyond.any() or sizes is None or sign * float(np.mean(sizes.values)) < SMALL:
        return None
    step = float(points.steps[int(np.argmax(beyond))])
    what = (
        "samples are {side} probable than the policy's entropy says, by {gap} nats a token and "
        f"{number(float(total.max()))} standard errors: compare sampler and trainer. Proved at {{step}}"
    )
    message = facts.tell(what, side="less" if sign > 0 else "more", gap=facts.mean(sizes), step=facts.at(points, step))
    return Finding(
        message=message,
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=points.name,
        onset=step,
        interval=(float(points.steps[0]), step),
        evidence=(Evidence(text="surprise less entropy, in standard errors", series=points, since=step, level=0.0),),
    )
