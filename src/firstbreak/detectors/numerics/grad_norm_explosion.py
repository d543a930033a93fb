"""The gradient norm grows far beyond its own past, or has a very heavy tail.

## What it looks for
The gradient norm over the last quarter against its first fifth, on a logarithmic scale, with the step from which it
grows; and its upper tail: the 95th percentile against the median. The growth counts where the score does not rise
with it. For language models also its absolute size, which takes no history: a norm above `absurd` beside a loss of
ordinary size is no gradient of that loss.

## Why it matters
A norm that grows by orders of magnitude is the last warning before NaN or collapse. Behind the clip it means that
every update has the full permitted length, in a direction that a few tokens or one outlier of the critic decide.

## When it is a false alarm
The norm rises as a policy sharpens and as returns grow: with a score that rises it is the price of learning. The
first updates of a run are the largest; they are left out. Single spikes that the clip catches do no harm.

## Fix
- Look at the batch of the largest norm: length, reward outliers, tokens with extreme log-probabilities.
- Lower {learning_rate}; clip at {grad_clip}, after unscaling.
- Clip or normalise rewards and returns; give the critic its own clip.
- Compare the engines' log-probabilities: a mismatch on rare tokens explodes late.

## Smallest experiment
Continue from the checkpoint before the growth with {learning_rate} divided by ten: if the norm still grows, the data
or the log-probabilities are at fault and not the step size.

## References
https://arxiv.org/abs/1211.5063
https://arxiv.org/abs/2006.05990
"""

from __future__ import annotations

import numpy as np

from firstbreak.detectors._growth import Growth, growth
from firstbreak.model import Confidence, Config, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.shape import Trajectory
from firstbreak.stats.spikes import tail
from firstbreak.words import number

WARM_UP = 0.1  #: of the run: the first updates are the largest


def detect(
    grad_norm: Series,
    config: Config,
    trajectory: Trajectory | None = None,
    writes_text: bool = False,
    policy_loss: Series | None = None,
    loss_total: Series | None = None,
    *,
    absurd: float = 1e6,
    many: float = 10.0,
    ruin: float = 100.0,
    heavy: float = 20.0,
    min_points: int = 20,
) -> Finding | Expected | NotMeasured | None:
    loss = policy_loss if policy_loss is not None else loss_total
    if writes_text and loss is not None and (finding := _absurd(grad_norm.finite, loss.finite, absurd)):
        return finding
    norms = growth(grad_norm, min_points)
    if norms is None:
        return NotMeasured(f"fewer than {min_points} gradient norms above 0 are logged")
    if norms.times >= many:
        return _grown(norms, trajectory, ruin)
    return _heavy(norms.curve.tail(1 - WARM_UP), heavy, config)


def _absurd(norms: Series, loss: Series, absurd: float) -> Finding | None:
    """A norm that no loss of that size has."""
    size = float(np.median(np.abs(loss.values))) if len(loss) else np.inf
    norm = float(np.median(norms.values)) if len(norms) else 0.0
    if norm < absurd or size > 100:
        return None
    return Finding(
        message=(
            f"the gradient norm is {number(norm)} although the loss is {number(size)}: a loss scale that is not taken "
            "off again, a sum where a mean is meant, or one token with an extreme log-probability; behind the clip "
            "every update has its full length whatever the batch says"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.MEDIUM,
        metric="grad.norm",
        onset=float(norms.steps[0]),
        interval=(float(norms.steps[0]), float(norms.steps[0])),
        evidence=(Evidence(text="gradient norm", series=norms),),
        facts={"norm": norm},
    )


def _grown(norms: Growth, trajectory: Trajectory | None, ruin: float) -> Finding | Expected | None:
    times = number(norms.times)
    if trajectory is not None and trajectory.learned and not trajectory.lost:
        return Expected(f"the gradient norm grew {times} times while the score rose: policy and returns sharpen")
    if (began := norms.since()) is None:
        return None
    since, interval = began
    lost = trajectory is not None and trajectory.lost
    return Finding(
        message=(
            f"the gradient norm grew {times} times, from {number(norms.early)} to {number(norms.late)}, and the score "
            f"{'fell' if lost else 'did not rise'}; look at the batch of the largest norm, then lower the learning rate"
        ),
        severity=Severity.CRITICAL if lost and norms.times >= ruin else Severity.WARNING,
        confidence=Confidence.LOW if trajectory is None else Confidence.HIGH if lost else Confidence.MEDIUM,
        metric="grad.norm",
        onset=since,
        interval=interval,
        evidence=(Evidence(text=f"grew {times} times", series=norms.curve, since=since),),
        facts={"growth": norms.times},
    )


def _heavy(norms: Series, heavy: float, config: Config) -> Finding | None:
    upper = tail(norms)
    if upper is None or upper.p95_ratio < heavy:
        return None
    clip = config.number("grad_clip")
    first = float(norms.steps[np.argmax(norms.values >= upper.p95)])
    return Finding(
        message=(
            f"one gradient norm in twenty is above {number(upper.p95)}, {number(upper.p95_ratio)} times the median, "
            f"and the largest is {number(upper.maximum)}{f' (clipped at {number(clip)})' if clip else ''}: a few "
            "batches decide the direction; look at one of them"
        ),
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
        metric="grad.norm",
        onset=first,
        interval=(float(norms.steps[0]), first),
        evidence=(Evidence(text="gradient norm", series=norms, level=upper.p95),),
        facts={"p95_ratio": upper.p95_ratio},
    )
