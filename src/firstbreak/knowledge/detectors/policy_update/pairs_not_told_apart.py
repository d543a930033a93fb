"""Preference pairs are told apart by chance only, or by next to nothing.

Looks for: The accuracy on training pairs, of a reward model or of DPO's implicit reward: its mean in the second half,
and the upper end of its 95 % interval, below `max_accuracy`. Or a margin of DPO that is below `moved` nats at the end: the
policy has hardly left its reference, whatever share of the pairs it orders.
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
from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.families import Method, only
from firstbreak.model import Config, Finding, NotMeasured, Series
from firstbreak.words import number

FAMILIES = only(Method.PREFERENCE)


def detect(
    config: Config,
    rm_accuracy: Series | None = None,
    pref_reward_accuracy: Series | None = None,
    pref_reward_margin: Series | None = None,
    *,
    max_accuracy: float = at(0.55, "share", "Pairs that are told apart by anything give more."),
    moved: float = at(0.1, "nats", "The smallest of 32 healthy runs on pairs has 0.92, after 36 steps."),
    min_points: int = at(30, "points", "Fewer have a wide interval."),
) -> Finding | NotMeasured | None:
    curve = rm_accuracy if rm_accuracy is not None else pref_reward_accuracy
    if curve is None or len(curve.finite) < min_points:
        return NotMeasured(f"an accuracy on pairs, {min_points} times or more")
    points = curve.finite
    late = points.tail(0.5)
    highest = float(late.values.mean() + 2 * np.std(late.values, ddof=1) / len(late) ** 0.5)
    if highest > max_accuracy:
        return _hardly_moved(pref_reward_margin, config, moved, min_points)
    began, step = float(points.steps[0]), float(late.steps[0])
    return warning(
        "the training pairs are told apart in {share:%} of the cases, as by chance; label twenty by hand and compare",
        seen_since(curve, "accuracy on training pairs", began, (began, step), level=0.5),
        share=facts.mean(late),
    )


def _hardly_moved(margin: Series | None, config: Config, moved: float, min_points: int) -> Finding | None:
    """The margin between chosen and rejected, in nats, where half of the planned steps are done."""
    beta, planned = config.recorded("kl_coef"), config.number("total_steps")
    if margin is None or not beta or planned is None or len(points := margin.finite) < min_points:
        return None
    last = float(points.steps[-1])
    nats = float(np.median(np.abs(points.tail(0.25).values))) / beta
    if nats >= moved or last < 0.5 * planned:
        return None
    return warning(
        "chosen and rejected answers are {nats} nats apart after {last}, although {beta} allows more: the policy has hardly "
        "moved; raise the learning rate, and train weights in 32 bits, or from copies in 32 bits",
        seen_since(margin, "margin", float(points.steps[0])),
        nats=number(nats),
        last=facts.at(margin, last),
        beta=facts.setting(config, "kl_coef"),
    )
