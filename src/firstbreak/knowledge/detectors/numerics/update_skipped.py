"""Optimizer steps are skipped, or clipped with the loss scale in them.

Looks for: The share of optimizer steps that were applied, if it is below 1; and the loss scale of mixed precision, if
it keeps falling in the second half of the run or has reached 1. Or a gradient norm that is the loss scale times a norm of its
own, and so grows with each doubling of it: what is clipped then is not the gradient.
Why: A skipped step costs a whole batch and teaches nothing. The trainer protects the weights, so no curve shows NaN:
the skipped steps are the only sign, and they become frequent before a run breaks.
False alarm: In the first steps the scaler tries scales that are too large, until it finds its level. A single skipped
step in hundreds.
Fix:
- Train in bf16 instead of fp16 ({precision}), and compute logits and losses in fp32.
- Find the batch: empty masks, a spread of exactly 0 in a denominator, completions without a token.
- Lower {learning_rate} and {grad_clip} if the gradient norm grew first.
Experiment: Run the skipped batch alone in fp32: if the gradient is finite there, the number format overflowed. If the
gradient is infinite there too, the loss is wrong.
References: https://pytorch.org/docs/stable/amp.html https://arxiv.org/abs/1710.03740
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, from_point, graded, seen_since, warning
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Series, Severity
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)
LARGE = 1024.0  #: scales that trainers begin with are larger (convention)
ROWS, TIMES, NEARLY, SURE = (
    20,
    4.0,
    0.25,
    0.9,
)  #: rows, growth of the scale, exponent of the norm beside 1, correlation (convention)
SETTLED = 5  #: points: a scale that is at its lowest for fewer may recover (convention)


def detect(
    optim_update_ok: Series | None = None,
    optim_loss_scale: Series | None = None,
    grad_norm: Series | None = None,
    config: Config | None = None,
    *,
    share_warning: float = at(0.01, "share", "A single skipped step in hundreds is usual."),
    share_critical: float = at(0.5, "share", "Half of all batches teach nothing."),
    min_halvings: float = at(5.0, "halvings", "A scale that falls this often in the second half does not settle."),
    min_points: int = at(5, "points", "In fewer steps the loss scale still settles."),
) -> Finding | NotMeasured | None:
    applied, scale = (s.finite if s is not None else None for s in (optim_update_ok, optim_loss_scale))
    if max(len(applied or ()), len(scale or ())) < min_points:
        return NotMeasured(f"neither skipped updates nor the loss scale are logged for {min_points} steps")
    if scale and grad_norm is not None and (scaled := _scaled(grad_norm.finite, scale, config)):
        return scaled
    skipped = _skipped(applied, share_warning, share_critical) if applied else None
    return skipped or (_overflowing(scale, min_halvings) if scale else None)


def _skipped(applied: Series, share_warning: float, share_critical: float) -> Finding | None:
    share = float(np.mean(1 - applied.tail(0.5).values))
    if share < share_warning:
        return None
    first = float(applied.steps[np.argmax(applied.values < 1)])
    return graded(
        Severity.CRITICAL if share >= share_critical else Severity.WARNING,
        f"{percent(share)} of the optimizer steps of the second half are skipped because their gradient is not finite; "
        "run one skipped batch alone in fp32",
        seen_since(applied, "share of steps applied", first, level=1.0),
        numbers={"skipped": share},
    )


def _scaled(norms: Series, scale: Series, config: Config | None) -> Finding | None:
    """A norm of the gradient that holds the loss scale, and is clipped so."""
    _, i, j = np.intersect1d(norms.steps, scale.steps, return_indices=True)
    gradients, scales = norms.values[i], scale.values[j]
    if len(i) < ROWS or (gradients <= 0).any() or (scales <= 0).any() or scales.max() < TIMES * scales.min():
        return None
    low, high = gradients[scales <= 2 * scales.min()], gradients[scales >= scales.max() / 2]
    grown, _ = np.polyfit(np.log(scales), np.log(gradients), 1)
    if np.corrcoef(np.log(scales), np.log(gradients))[0, 1] < SURE or abs(grown - 1) > NEARLY:
        return None
    limit = None if config is None else config.number("grad_clip")
    return warning(
        "the gradient norm grows with the loss scale, from {low} at {first} to {high} at {last}: it is that of the scaled "
        "gradient, and a limit of {limit} cuts each step to next to nothing; unscale the gradients before they are clipped",
        seen_since(norms, "gradient norm", float(norms.steps[0]), beside={"loss scale": scale}),
        low=number(float(median(low))),
        first=number(float(scales.min())),
        high=number(float(median(high))),
        last=number(float(scales.max())),
        limit=number(limit) if limit else "its size",
        confidence=Confidence.HIGH if limit and median(low) > TIMES * limit else Confidence.MEDIUM,
    )


def _overflowing(scale: Series, min_halvings: float) -> Finding | None:
    if len(scale.finite) and (lowest := _at_lowest(scale.finite)):
        return lowest
    late = scale.tail(0.5)
    start, end = float(late.values[0]), float(late.values[-1])
    if not 0 < end < start or (end > 1 and np.log2(start / end) < min_halvings):
        return None
    return warning(
        "the loss scale fell from {start} to {end} in the second half of the run: gradients overflow again and again; "
        "train in bf16 instead of fp16",
        seen_since(scale, "loss scale", float(late.steps[0]), (float(late.steps[0]), float(late.steps[-1]))),
        start=facts.first(late),
        end=facts.last(late),
        numbers={"scale": end},
    )


def _at_lowest(scale: Series) -> Finding | None:
    """A scale of 1 or less, after a large one, to the end: nothing is left to halve, and gradients still overflow."""
    first = for_good(scale.values <= 1, 0.9)
    if first is None or len(scale) - first < SETTLED or scale.values.max() < LARGE:
        return None
    return critical(
        "the loss scale fell from {top} to {end} and stays there from {since} on: half precision overflows whatever the "
        "scale, and steps are skipped; compute log-probabilities and losses in fp32, and train in bf16",
        seen_since(scale, "loss scale", *from_point(scale, first)),
        top=facts.highest(scale),
        end=facts.last(scale),
        since=facts.at(scale, float(scale.steps[first])),
        numbers={"scale": float(scale.values[-1])},
    )
