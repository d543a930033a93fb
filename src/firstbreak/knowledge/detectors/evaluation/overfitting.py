"""The held-out loss rises again while the training loss keeps falling.

Looks for: In supervised training, the last two held-out losses against the lowest one. A finding is a rise of
`min_rise` or more, while the training loss has not risen since then. Where both rise, training diverges, and this is
another finding.
Why: After the lowest held-out loss, the model memorises its examples. On other text its probabilities become too
extreme, and reinforcement learning that starts from this model begins with little entropy.
False alarm: In instruction tuning, generated answers can still improve for about one epoch while the held-out loss
rises a little: compare generated answers. A held-out set of a few dozen examples is noisy.
Fix:
- Use the checkpoint with the lowest held-out loss (`load_best_model_at_end`), or train fewer epochs ({total_epochs}).
- Use more data, or more varied data; a lower {learning_rate}; a smaller adapter, dropout or {weight_decay}.
Experiment: Compare answers of the checkpoint with the lowest held-out loss and of the last one on twenty prompts that
are not in the training data.
References: https://arxiv.org/abs/2203.02155 https://arxiv.org/abs/2212.10560
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_since, warning
from firstbreak.engine.families import Method, only
from firstbreak.model import Confidence, Finding, Series
from firstbreak.words import number, percent, step_word

FAMILIES = only(Method.SUPERVISED)


def detect(
    eval_loss: Series,
    sft_loss_mean: Series | None = None,
    loss_total: Series | None = None,
    *,
    min_rise: float = at(0.05, "nats per token", "5 % more perplexity: a noisy set hardly makes this twice in a row"),
    min_evaluations: int = at(4, "evaluations", "with fewer held-out losses no turn is known"),
    min_points: int = at(8, "points", "with fewer training losses their course after the turn is not known"),
) -> Finding | None:
    losses = enough(eval_loss.finite, min_evaluations, "held-out losses")
    lowest = int(np.argmin(losses.values))
    best, last = float(losses.values[lowest]), float(losses.values[-2:].min())
    if last - best < min_rise:
        return None
    since = float(losses.steps[lowest])
    training = sft_loss_mean if sft_loss_mean is not None else loss_total
    before, after = _around(training, since, min_points)
    if after > before:
        return None
    falls = f" while the training loss went from {number(before)} to {number(after)}" if np.isfinite(after) else ""
    now = losses.between(float(losses.steps[-2]))
    return warning(
        "the held-out loss was {best} at {step} and is at least {last} in the last two evaluations{falls}: the perplexity "
        "on held-out text is {higher} higher; go back to the checkpoint of that {axis}, or train fewer epochs",
        seen_since(losses, "held-out loss", since, (since, float(losses.steps[lowest + 1])), level=best),
        best=facts.lowest(losses),
        step=facts.at(losses, since),
        last=facts.lowest(now),
        falls=falls,
        higher=percent(np.exp(last - best) - 1),
        axis=step_word(losses.axis),
        confidence=Confidence.HIGH if np.isfinite(after) else Confidence.MEDIUM,
        numbers={"rise": last - best},
    )


def _around(training: Series | None, step: float, min_points: int) -> tuple[float, float]:
    """The training loss around a step and at the end; NaN where it is not recorded."""
    if training is None or len(training.finite) < min_points:
        return np.nan, np.nan
    losses = training.finite
    tenth = max(len(losses) // 10, 1)
    at = int(np.searchsorted(losses.steps, step))
    return float(np.median(losses.values[max(at - tenth, 0) : at + tenth])), float(np.median(losses.values[-tenth:]))
