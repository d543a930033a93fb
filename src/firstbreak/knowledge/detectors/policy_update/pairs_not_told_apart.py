"""Preference pairs are told apart no better than by chance.

Looks for: The accuracy on training pairs, of a reward model or of DPO's implicit reward: its mean in the second half,
and the upper end of its 95 % interval, below `max_accuracy`.
Why: Nothing was learned: the labels say nothing, the question is missing, or no update arrives.
False alarm: Much data and a run that has just begun.
Fix:
- Label twenty pairs by hand, and compare: labels of two conventions cancel each other.
- Check that the texts hold the prompt, and that the weights change.
Experiment: Train on thirty pairs alone: the accuracy on them must reach 1.
References: https://arxiv.org/abs/2305.18290
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Method, only
from firstbreak.model import Confidence, Finding, NotMeasured, Series, Severity

FAMILIES = only(Method.PREFERENCE)


def detect(
    rm_accuracy: Series | None = None,
    pref_reward_accuracy: Series | None = None,
    *,
    max_accuracy: float = at(0.55, "share", "Pairs that are told apart by anything give more."),
    min_points: int = at(30, "points", "Fewer have a wide interval."),
) -> Finding | NotMeasured | None:
    curve = rm_accuracy if rm_accuracy is not None else pref_reward_accuracy
    if curve is None or len(curve.finite) < min_points:
        return NotMeasured(f"an accuracy on pairs, {min_points} times or more")
    points = curve.finite
    late = points.tail(0.5)
    highest = float(late.values.mean() + 2 * np.std(late.values, ddof=1) / len(late) ** 0.5)
    if highest > max_accuracy:
        return None
    began, step = float(points.steps[0]), float(late.steps[0])
    return Finding(
        message=facts.tell(
            "the training pairs are told apart in {share:%} of the cases, as by chance; label twenty by hand and compare",
            share=facts.mean(late),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(curve, "accuracy on training pairs", began, (began, step), level=0.5),
    )
