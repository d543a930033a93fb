"""The critic's loss or values grow by orders of magnitude, the return does not.

Looks for: The value loss and the size of the predicted values over the last quarter, compared with their first fifth on
a logarithmic scale, beside the shape of the score.
Why: A critic that learns from its own prediction grows without bound: targets come from the critic that is being
trained, a terminal state is bootstrapped, or overestimated values are replayed. The advantages then contain the error
of the critic, and the policy follows this error.
False alarm: Values and their loss grow with the returns: if the score rises or stays at its ceiling, they should grow.
A DQN at the maximum return has a loss as large as its values.
Fix:
- Compute the targets once per batch, from the network before the update, without a gradient.
- Multiply the bootstrapped value by (1 - terminated), in the target and in the recursion.
- Update the target network more slowly ({tau}, {target_update_interval}), and take the smaller value of two critics.
- Normalise or clip rewards ({normalize_reward}, {reward_clip}), and lower {gamma}.
Experiment: Freeze one batch, train only the critic on this batch, and compare its mean with the returns of finished
episodes: a prediction above the largest possible return is an error of the target.
References: https://arxiv.org/abs/1509.06461 https://arxiv.org/abs/1812.02648
https://github.com/tensorflow/agents/issues/316
"""

import numpy as np

from firstbreak.engine.checks import at, graded, seen_as
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors._growth import Growth, growth
from firstbreak.model import Confidence, Evidence, Expected, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number

EITHER_SCORE = True


def detect(
    value_loss: Series | None = None,
    value_mean: Series | None = None,
    score: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    method: Method | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    growth_warning: float = at(100.0, "ratio", "Of the value loss: a square, so values have grown tenfold."),
    growth_critical: float = at(1e4, "ratio", "Of the value loss: values have then grown a hundredfold."),
    max_return_ratio: float = at(2.0, "ratio", "Values begin near 0, and must grow up to the returns."),
    min_points: int = at(20, "points", "Fewer points show no growth."),
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    if value_loss is None and value_mean is None and method in (Method.GROUP_RELATIVE, Method.PREFERENCE):
        return NotApplicable("no critic in this kind of training")
    # A loss is a square: values that grow tenfold raise it a hundredfold.
    powers = ((value_loss, 1), (value_mean, 2))
    grown = [(g, power) for s, power in powers if s is not None and (g := growth(s, min_points)) is not None]
    if not grown:
        return NotMeasured(f"neither the value loss nor the values have {min_points} points")
    suspect = [
        (g, power)
        for g, power in grown
        if np.float_power(g.times, power) >= growth_warning and not _explained(g, value_mean, score, max_return_ratio)
    ]
    if not suspect:
        return None
    worst, power = max(suspect, key=lambda pair: np.float_power(pair[0].times, pair[1]))
    name, times = worst.curve.name, number(worst.times)
    if solved or (trajectory is not None and trajectory.learned and not trajectory.lost):
        return Expected(f"{name} grew {times} times with the returns: the score rose or is at its ceiling")
    if trajectory is not None and trajectory.kind == "flat" and trajectory.noise == 0:
        return NotMeasured(f"{name} grew, and a score that is always the same does not show whether it should grow")
    if (began := worst.since()) is None:
        return None
    since, interval = began
    judged = trajectory is not None and trajectory.kind != "too_short"
    ends = "the ends of completions" if policy is Policy.TEXT else "terminated episodes"
    beside = "no score shows that the returns grew"
    if judged and score is not None:
        beside = f"{score.name} did not rise"
    return graded(
        Severity.CRITICAL if judged and worst.times**power >= growth_critical else Severity.WARNING,
        "{name} grew {times} times, from {early} to {late}, and {beside}: the critic follows its own wrong predictions; "
        "check the bootstrap target and the mask for {ends}",
        seen_as(
            name,
            since,
            interval,
            drawn=tuple(
                Evidence(text=s.name, series=s, since=since) for s in (value_loss, value_mean) if s is not None
            ),
        ),
        name=name,
        times=times,
        early=worst.before,
        late=worst.after,
        beside=beside,
        ends=ends,
        confidence=Confidence.HIGH if judged else Confidence.LOW,
        numbers={"growth": worst.times},
    )


def _explained(grown: Growth, value_mean: Series | None, score: Series | None, max_return_ratio: float) -> bool:
    """Values begin near 0 by initialisation: they have to grow up to the size of the returns."""
    if value_mean is None or score is None or grown.curve.name != value_mean.name:
        return False
    return grown.late <= max_return_ratio * float(np.max(np.abs(score.values)))
