"""For stretches of the run, all steps take much longer.

Looks for: Two or more stretches in which steps take at least `min_ratio` times as long as in the others, of many steps
each, with a return to the usual time in between, at completions of the same length.
Why: Another job, a merge or an upload competes for the machine while it runs. Training is not harmed by it, but a large
part of the time is lost, and memory that is short in one of these stretches ends the run.
False alarm: Stages of a curriculum with longer completions or episodes. One lasting change is another finding.
Fix:
- Note what else runs on the machine in these stretches: other jobs, evaluation, merging, uploading.
- Move that job away, or give it cores and bandwidth of its own.
Experiment: Run twenty steps while nothing else runs: if all are quick, start the other jobs one by one.
References: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.stats.points import quantile
from firstbreak.engine.stats.smooth import running_median
from firstbreak.knowledge.detectors.systems._shares import step_time, times_as_large
from firstbreak.model import Confidence, Finding, NotMeasured, Series
from firstbreak.words import number, percent


def detect(
    time: Mapping[str, Series] | None = None,
    length_mean: Series | None = None,
    length_total_mean: Series | None = None,
    episode_length: Series | None = None,
    *,
    min_ratio: float = at(1.8, "ratio", "Nearly twice as long as in the other stretches."),
    drift: float = at(1.25, "ratio", "The quick stretches before and after are equally quick."),
    min_stretch: int = at(8, "steps", "Shorter ones are single slow steps."),
    max_share: float = at(0.5, "share", "Slow steps are the exception."),
    min_points: int = at(40, "points", "Fewer steps have no stretches."),
) -> Finding | NotMeasured | None:
    clock = step_time(time)
    if clock is None or len(clock) < min_points:
        return NotMeasured(f"the time of a step is not logged for {min_points} steps")
    smooth = running_median(clock.values, 5)
    usual = quantile(smooth, 0.25)
    slow = smooth > min_ratio * usual
    edges = np.flatnonzero(np.diff(np.concatenate([[0], slow.astype(int), [0]])))
    stretches = [(a, b) for a, b in zip(edges[::2], edges[1::2], strict=True) if b - a >= min_stretch]
    if len(stretches) < 2 or float(np.mean(slow)) > max_share:
        return None
    (first, end), (again, _) = stretches[0], stretches[-1]
    quick = [part for part in (clock.values[:first], clock.values[end:again]) if len(part)]
    levels = [float(np.median(part)) for part in quick]
    if max(levels) > drift * min(levels) or max(levels) * min_ratio > float(np.median(clock.values[slow])) * drift:
        return None
    lengths = (s.finite for s in (length_mean, length_total_mean, episode_length) if s is not None)
    if any(times_as_large(length, clock.steps[slow]) > drift for length in lengths):  # longer texts take longer
        return None
    ratio = float(np.median(clock.values[slow])) / usual
    lost = float(np.sum(clock.values[slow] - usual) / np.sum(clock.values))
    step = float(clock.steps[first])
    return warning(
        f"in {len(stretches)} stretches of the run, steps take {number(ratio)} times as long as in the others and then "
        f"return, {percent(lost)} of the time: another job competes for the machine; find what runs at these times",
        seen_since(clock, f"{len(stretches)} slow stretches", step, level=usual),
        confidence=Confidence.MEDIUM,
        numbers={"lost": lost, "stretches": len(stretches)},
    )
