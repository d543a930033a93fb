"""The learning rate jumps up in mid-run.

Looks for: A logged learning rate that rises to `growth_warning` times its value or more within `within_points` points,
after the warm-up.
Why: Schedules fall. A learning rate that jumps up points to a restart that lost its schedule, a resumed optimizer with
other settings, or a scale factor that was applied twice. Every update from there on is that many times as large.
False alarm: Cyclic schedules and warm restarts that are planned. A warm-up rises from 0 over many updates and is not
reported.
Fix:
- Compare the step counter of the schedule before and after the restart.
- Go back to the checkpoint before the jump, and resume with the old learning rate.
Experiment: Resume from before the jump with the old learning rate for 20 steps: KL divergence per update and score must
go on as before.
References: https://arxiv.org/abs/1608.03983
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, from_point, seen_since, warning
from firstbreak.engine.stats.changes import adapted
from firstbreak.model import Finding, Series


def detect(
    lr: Series,
    *,
    growth_warning: float = at(3.0, "ratio", "Schedules fall, or rise slowly: a threefold rise at once is neither."),
    within_points: int = at(2, "points", "A rise over more points is a planned part of a schedule."),
    warmup_points: int = at(8, "points", "The first points may belong to a warm-up."),
) -> Finding | None:
    rates = enough(lr.finite, 2 * warmup_points, "learning rates")
    if adapted(rates):
        return None
    values = rates.values
    before, after = values[warmup_points:-within_points], values[warmup_points + within_points :]
    jumps = np.flatnonzero((before > 0) & (after >= growth_warning * before))
    if not len(jumps):
        return None
    start = warmup_points + int(jumps[0])
    step = np.argmax(values[start + 1 : start + within_points + 1] > values[start])
    at = start + 1 + int(step)
    since, was, now = float(rates.steps[at]), float(values[at - 1]), float(np.max(values[at : at + within_points]))
    return warning(
        "the learning rate went from {was} to {now} at {since}; check whether a restart lost the schedule, and resume from "
        "before the jump with the old learning rate",
        seen_since(rates, "learning rate", *from_point(rates, at)),
        was=facts.last(rates.between(float(rates.steps[at - 1]), float(rates.steps[at - 1]))),
        now=facts.highest(rates.between(since, float(rates.steps[min(at + within_points, len(rates)) - 1]))),
        since=facts.at(rates, since),
        numbers={"times": now / was if was > 0 else np.inf},
    )
