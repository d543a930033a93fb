"""Time limits differ in length, or are stored as ends of the task.

Looks for: Episodes that were reported as truncated by a time limit, although they were shorter than the longest such
episode so far. A finding needs them in at least `min_share` of the windows. And a log in which no episode terminates,
where transitions of the batch are `done` all the same, as often as episodes reach the limit.
Why: A time limit has one length. Where "limits" come earlier, failures are reported as limits. The value after a
failure is then bootstrapped, so that a failure costs little. Where a limit is stored as a failure, the value of its
last state is taken for 0.
False alarm: An environment that stops at different times for reasons outside the task (a limit in seconds, a random
horizon).
Fix:
- Return terminated=True where the task ended, and truncated=True only where the time limit ended the episode.
- Check what wrappers do with `done` and `TimeLimit.truncated`.
Experiment: Let a policy fail on purpose, and print the two flags and `info`.
References: https://arxiv.org/abs/1712.00378
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_in, seen_since, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.model import Finding, NotMeasured, Role, Run, Series, Statistic
from firstbreak.patterns import pattern
from firstbreak.words import number

ROLES = (Role.RELATION,)
FAMILIES = only(Policy.CONTROL)
DONE = pattern(r"(batch|buffer|replay|train)_?dones?(_?(frac|rate|share|mean))?", re.IGNORECASE)
ENDED = pattern(r"terminated(_?(frac|rate|share))?", re.IGNORECASE)


def detect(
    run: Run,
    env_limits_early: Series | None = None,
    *,
    min_share: float = at(0.3, "share", "of the windows: a single early limit may have another reason"),
    min_points: int = at(6, "points", "with fewer windows no share is known"),
) -> Finding | NotMeasured | None:
    if env_limits_early is None:
        return _stored(run, min_points)
    curve = enough(env_limits_early.finite, min_points, "windows of transitions")
    early = curve.values > 0
    if float(np.mean(early)) < min_share:
        return None
    first = float(curve.steps[np.flatnonzero(early)[0]])
    return warning(
        "in {share:%} of the windows, episodes were reported as truncated by a time limit before the limit was reached "
        "({each} in each on average): failures are reported as limits; check terminated and truncated",
        seen_since(curve, "time limits that came early", first, (float(curve.steps[0]), first), level=0.0),
        share=facts.of(Statistic.ABOVE, curve, 0.0),
        each=facts.mean(curve),
        numbers={"share": float(np.mean(early))},
    )


def _stored(run: Run, min_points: int) -> Finding | NotMeasured | None:
    """Transitions of the batch are ends as often as episodes reach the limit, and no episode terminates."""
    named = {(s.raw or s.name).rpartition("/")[2]: s.finite for s in (*run.series.values(), *run.unknown.values())}
    done, ended = (
        next((s for n, s in named.items() if p.fullmatch(n) and len(s) >= min_points), None) for p in (DONE, ENDED)
    )
    length = next((s.finite for n in ("episode.length", "length.mean") if (s := run.series.get(n)) is not None), None)
    if done is None or ended is None or length is None or not len(length):
        return NotMeasured(
            "neither windows of transitions, nor the ends of episodes beside those of the batch, are recorded"
        )
    expected = 1 / max(median(length.values), 1.0)
    if ended.values.any() or not 0.5 * expected < float(done.values.mean()) < 2 * expected:
        return None
    return warning(
        "no episode terminates, and {done:%} of the transitions in the batch are ends, one in each {length} steps: the time "
        "limit is stored as the end of the task, and the value after it is taken for 0; store terminated, not done",
        seen_in(done, "share of ends in the batch", beside={"terminated": ended}),
        done=facts.mean(done),
        length=number(median(length.values)),
    )
