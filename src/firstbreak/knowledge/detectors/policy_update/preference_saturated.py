"""The preference loss is 0 long before the end of training.

Looks for: A loss on preference pairs, on held-out ones where it is logged, that is below `max_loss` from the first
`max_start` of the run on to its end. The gradient of a pair is its implicit reward margin's distance from certainty,
and about as small as the loss.
Why: The model tells all pairs apart with certainty, so the rest of the run teaches nothing, or only rounding errors.
Pairs that are learned in a few steps differ in a surface mark: a format, a length, a phrase. Or the steps are too
large, and the model is far from its reference when the loss reaches 0.
False alarm: Pairs that shall teach exactly such a mark, with a model that was kept from before the loss reached 0.
Fix:
- Lower {learning_rate} by ten, or raise {kl_coef}, and keep the first checkpoint that tells the pairs apart.
- Read ten pairs: what differs between chosen and rejected besides their quality? Take it out, or add harder pairs.
Experiment: Train the same steps with {learning_rate} / 10: if the held-out loss falls slowly and stays above 0, the
steps were too large; if it is 0 as soon, the pairs are too easy.
References: https://arxiv.org/abs/2305.18290
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, seen_since
from firstbreak.engine.families import Method, only
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity

FAMILIES = only(Method.PREFERENCE)


def detect(
    eval_loss: Series | None = None,
    eval_pref_loss: Series | None = None,
    pref_loss: Series | None = None,
    loss_total: Series | None = None,
    *,
    max_loss: float = at(1e-3, "nats", "Chosen is 1000 times as probable as rejected: the gradient is a thousandth."),
    max_start: float = at(1 / 3, "share of the run", "Later, most of the run has taught something."),
    min_points: int = at(4, "points", "Fewer losses of 0 may be a lucky batch."),
) -> Finding | NotMeasured | None:
    curves = [s.finite for s in (eval_pref_loss, eval_loss, pref_loss, loss_total) if s is not None]
    loss = next((s for s in curves if len(s) > min_points), None)
    if loss is None:
        return NotMeasured(f"no loss is logged more than {min_points} times")
    above = np.flatnonzero(np.abs(loss.values) > max_loss)
    first = int(above[-1]) + 1 if len(above) else 0
    limit = loss.steps[0] + max_start * (loss.steps[-1] - loss.steps[0])
    if not 0 < first <= len(loss) - min_points or loss.steps[first] > limit:
        return None  # a loss that is 0 from the first point on is another matter: it has not begun at ln 2
    since = float(loss.steps[first])
    return Finding(
        message=facts.tell(
            "{curve} is below {limit} from {since} on: the pairs are told apart with certainty and give no gradient any more; "
            "lower the learning rate, and read in what chosen and rejected differ",
            curve=loss.name,
            limit=f"{max_loss:g}",
            since=facts.at(loss, since),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        **seen_since(loss, "loss", *from_point(loss, first), level=0.0),
    )
