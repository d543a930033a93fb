"""The learning rate is nearly 0 long before the end.

Looks for: A logged learning rate that falls to `max_share` of its highest value or less, and stays there for the last
`min_rest` of the run or more (`min_rest_zero`, where it is exactly 0). A rate that is 0 from the start is reported by
`no-update`, one below 0 by `learning-rate-negative`.
Why: Samples are drawn and scored at full cost, and no update changes the policy any more. The score stands still, or
swings by chance, and a restart from the last checkpoint goes on with the same rate.
False alarm: A run that is solved. A schedule that ends at 0 is this small for less than `min_rest` of the run: a linear
one for 1 %, a cosine for 7 %.
Fix:
- Compare the number of steps of the schedule with the number of updates of the run: it may count minibatches, epochs or the
  steps of one process, or belong to a shorter run before a resume.
- Set {learning_rate} and its schedule for the whole run, with a lowest value of a tenth.
Experiment: Resume from the last checkpoint with a constant learning rate of a tenth of the highest one: the policy must
move again.
References: https://huggingface.co/docs/transformers/main_classes/optimizer_schedules
https://stable-baselines3.readthedocs.io/en/master/guide/examples.html#learning-rate-schedule
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, from_point, graded, seen_since
from firstbreak.engine.stats.changes import rounded_away
from firstbreak.model import Expected, Finding, Role, Series, Severity
from firstbreak.words import percent

ROLES = (Role.RELATION,)


def detect(
    lr: Series,
    solved: bool | None = None,
    *,
    max_share: float = at(0.01, "share", "Of the highest rate: updates are 100 times smaller."),
    min_rest: float = at(0.2, "share", "Of the run: a cosine to 0 is this small for 7 %."),
    min_rest_zero: float = at(0.1, "share", "Of the run, at a rate of exactly 0, where a schedule only ends."),
    most_solved: float = at(
        0.5, "share", "Of a run whose task is solved: nobody plans to learn for less than half of it."
    ),
    min_points: int = at(10, "points", "Fewer rates do not show a schedule."),
) -> Finding | Expected | None:
    rates = enough(lr.finite, min_points, "learning rates")
    steps, values = rates.steps, rates.values
    used = np.flatnonzero(values > max_share * values.max())
    if not len(used) or used[-1] == len(values) - 1 or rounded_away(values):
        return None
    first = int(used[-1]) + 1
    rest = float((steps[-1] - steps[first]) / (steps[-1] - steps[0])) if steps[-1] > steps[0] else 0.0
    if rest < (min_rest if values[first:].any() else min_rest_zero) or (values[first:] < 0).any():
        return None  # negative: another finding
    since = float(steps[first])
    left = rates.between(since, float(steps[-1]))
    what = facts.tell(
        "the learning rate is {now} at most from {since} on, {share} of the run, after {peak}",
        now=facts.highest(left),
        since=facts.at(rates, since),
        share=percent(rest),
        peak=facts.highest(rates),
    )
    if solved and rest < most_solved:
        return Expected(what)
    return graded(
        Severity.WARNING if values[first:].any() else Severity.CRITICAL,
        "{what}: updates of this size leave the policy as it is; compare the length of the schedule with that of the run",
        seen_since(rates, "learning rate", *from_point(rates, first)),
        what=what,
        numbers={"rest": rest},
    )
