"""The held-out loss rises again while the training loss goes on falling.

## What it looks for
In supervised training, the last two held-out losses against the lowest one, by more than `rise` nats per token; and the
training loss since then, which must not have risen as well: where both rise training diverges, another finding.

## Why it matters
From its lowest held-out loss on, the model learns its examples by heart. What it says of other text becomes too sure of
itself, and reinforcement learning that starts from it begins with little entropy.

## When it is a false alarm
Instruction tuning can still improve what is generated for a pass or so while the held-out loss rises a little: compare
generations. A held-out set of a few dozen examples is noisy.

## Fix
- Take the checkpoint with the lowest held-out loss (`load_best_model_at_end`), or fewer passes over the data ({total_epochs}).
- More or more varied data; a lower {learning_rate}; a smaller adapter, dropout or {weight_decay}.

## Smallest experiment
Compare answers of the checkpoint with the lowest held-out loss and of the last one on twenty prompts that are not in the
training data.

## References
https://arxiv.org/abs/2203.02155
https://arxiv.org/abs/2212.10560
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent


def detect(
    supervised: bool,
    eval_loss: Series,
    sft_loss_mean: Series | None = None,
    loss_total: Series | None = None,
    *,
    rise: float = 0.05,
    min_points: int = 4,
) -> Finding | NotApplicable | NotMeasured | None:
    if not supervised:
        return NotApplicable("only where a loss is the score")
    losses = eval_loss.finite
    if len(losses) < min_points:
        return NotMeasured(f"{len(losses)} held-out losses are too few (needs {min_points})")
    lowest = int(np.argmin(losses.values))
    best, last = float(losses.values[lowest]), float(losses.values[-2:].min())
    if last - best < rise:
        return None
    since = float(losses.steps[lowest])
    training = sft_loss_mean if sft_loss_mean is not None else loss_total
    before, after = _around(training, since)
    if after > before:
        return None
    falls = f" while the training loss went from {number(before)} to {number(after)}" if np.isfinite(after) else ""
    return Finding(
        message=(
            f"the held-out loss was {number(best)} at step {number(since)} and is {number(last)} now{falls}: the "
            f"perplexity of text that it was not trained on is {percent(np.exp(last - best) - 1)} higher; go back to that "
            "checkpoint, or train fewer epochs"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if np.isfinite(after) else Confidence.MEDIUM,
        metric="eval.loss",
        onset=since,
        interval=(since, float(losses.steps[lowest + 1])),
        evidence=(Evidence(text="held-out loss", series=losses, since=since, level=best),),
        facts={"rise": last - best},
    )


def _around(training: Series | None, step: float) -> tuple[float, float]:
    """The training loss around a step and at the end; NaN where it is not recorded."""
    if training is None or len(training.finite) < 8:
        return np.nan, np.nan
    losses = training.finite
    tenth = max(len(losses) // 10, 1)
    at = int(np.searchsorted(losses.steps, step))
    return float(np.median(losses.values[max(at - tenth, 0) : at + tenth])), float(np.median(losses.values[-tenth:]))
