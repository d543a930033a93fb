"""Single steps take many times as long as the others.

Looks for: Steps, or stretches of steps, that take several times as long as their quick neighbours and then end; the
share of the whole time that they cost; and whether they come at regular intervals, because a background job has a
period.
Why: A checkpoint upload, a model merge, an evaluation or another user of the machine competes for memory and bandwidth.
The memory peaks at the same steps, so a run that is only slow today runs out of memory tomorrow.
False alarm: Evaluation ({eval_interval}) and saving ({save_interval}) are part of the time of a step: spikes with their
period are explained. So are those at the steps at which alone a reward or a length is logged: there a new rollout is
made, and the steps between learn from the same one. The first step compiles and warms up caches.
Fix:
- Find out what runs at this period: compare the period with the intervals of saving, evaluation, logging and uploading.
- Move the job off the training machine, or run it asynchronously.
- If the spikes are irregular, find the slowest rollout or worker of these steps.
Experiment: Run 3 periods with saving, uploading and evaluation off: if the spikes are gone, turn these jobs on one by
one.
References: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
"""

from collections.abc import Mapping

import numpy as np

from firstbreak.engine.checks import at, graded, seen_since
from firstbreak.engine.stats.points import quantile, quantiles
from firstbreak.engine.stats.spikes import period, rhythm
from firstbreak.knowledge.detectors.systems._shares import step_time
from firstbreak.model import Confidence, Config, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

PLANNED = {"save_interval": "saving", "eval_interval": "evaluating"}
SAME_STEPS = 0.8  #: of the slow steps, and of those at which a job is logged, for the job to be the reason (convention)
NEIGHBOURS = 61  #: points among which the quick quarter says what is usual


def detect(
    config: Config,
    time: Mapping[str, Series] | None = None,
    eval_score: Series | None = None,
    reward_mean: Series | None = None,
    length_mean: Series | None = None,
    *,
    min_ratio: float = at(2.0, "ratio", "Twice as long as the quick neighbours."),
    rhythm_ratio: float = at(1.5, "ratio", "Of steps that are slow at a fixed period: the period shows them."),
    min_size: float = at(4.0, "standard deviations", "Where steps vary more, a slow step must lie beyond their noise."),
    min_spikes: int = at(3, "spikes", "Fewer slow steps have no rhythm."),
    min_cost: float = at(0.05, "share", "Less of the whole time is not worth a search."),
    cost_warning: float = at(0.25, "share", "A quarter of the whole time, lost to a job with a rhythm."),
    rare: float = at(0.2, "share", "Of the steps, that begin a slow stretch: more of them look regular by chance."),
    max_slow_share: float = at(0.5, "share", "Where most steps are slow, the quick steps are the odd ones."),
    period_tolerance: float = at(0.05, "share", "How far a period may lie from a multiple of the planned one."),
    min_points: int = at(20, "points", "Fewer steps do not show what is usual."),
) -> Finding | Expected | NotMeasured | None:
    clock = step_time(time)
    if clock is None or len(clock) <= min_points:
        return NotMeasured(f"the time of a step is not logged for more than {min_points} steps")
    times = clock.between(clock.steps[1])  # the first step compiles
    usual = _undisturbed(times.values)
    late = _slow(times.values, usual, min_ratio, min_size)
    beat = rhythm(times.values / np.maximum(usual, 1e-12))
    if beat is not None and _times_as_long(times.values, usual, beat.high & ~late) >= rhythm_ratio:
        late = beat.high
    starts = times.steps[late & ~np.concatenate([[False], late[:-1]])]
    lost = float(np.sum((times.values - usual)[late]) / max(np.sum(times.values), 1e-12))
    if len(starts) < min_spikes or lost < min_cost or np.mean(late) > max_slow_share:
        return None
    gap = float(np.median(np.diff(times.steps)))
    every = period(starts) if len(starts) <= rare * len(times) else None if beat is None else beat.every * gap
    job = next((what for name, what in PLANNED.items() if _same(every, config.number(name), period_tolerance)), None)
    logged = {
        "saving": (time or {}).get("save"),
        "evaluating": (time or {}).get("eval", eval_score),
        "a new rollout": reward_mean if reward_mean is not None else length_mean,
    }
    job = job or _logged_job(times.steps[late], logged)
    if job:
        often = f"every {number(every)} steps one step is" if every else f"{len(starts)} steps are"
        return Expected(f"{often} slow because of {job}: {percent(lost)} of the time")
    times_as_long = _times_as_long(times.values, usual, late)
    regular = f", every {number(every)} steps" if every else ""
    advice = "find the job that runs at this period" if every else "find the slowest worker of these steps"
    return graded(
        Severity.WARNING if every and lost >= cost_warning else Severity.NOTICE,
        f"{int(late.sum())} steps take {number(times_as_long)} times as long as the others{regular}, "
        f"{percent(lost)} of the time; {advice}",
        seen_since(clock, f"{int(late.sum())} slow steps", float(starts[0])),
        confidence=Confidence.HIGH if every else Confidence.MEDIUM,
        numbers={"lost": lost, "every": every},
    )


def _logged_job(late: np.ndarray, logged: Mapping[str, Series | None]) -> str | None:
    """The job whose own time, or whose result, is logged at the slow steps and at hardly any other."""
    for job, curve in logged.items():
        at = curve.finite.steps if curve is not None else np.array([])
        both = len({*late.tolist()} & {*at.tolist()})
        if len(at) and both >= SAME_STEPS * max(len(late), len(at)):
            return job
    return None


def _times_as_long(times: np.ndarray, usual: np.ndarray, late: np.ndarray) -> float:
    """How many times as long as usual these steps take, in the median."""
    return float(np.median(times[late] / usual[late])) if late.any() else 0.0


def _undisturbed(times: np.ndarray) -> np.ndarray:
    """What a step takes when nothing disturbs it: the lower quartile of its neighbours, so that half of them may be slow."""
    half = min(NEIGHBOURS, len(times)) // 2
    padded = np.concatenate([np.full(half, np.nan), times, np.full(half, np.nan)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * half + 1)
    inside = slice(half, len(times) - half)  # windows without a blank, which is slow to look for
    usual = np.empty(len(times))
    usual[inside] = quantiles(windows[inside], 0.25) if len(windows[inside]) else ()
    for i in (*range(min(half, len(times))), *range(max(half, len(times) - half), len(times))):
        usual[i] = quantile(windows[i][~np.isnan(windows[i])], 0.25)
    return usual


def _slow(times: np.ndarray, usual: np.ndarray, min_ratio: float, min_size: float) -> np.ndarray:
    """Steps that take `min_ratio` times the usual, or `min_size` noise units longer where steps vary more than that.

    The noise is read off the quick side, between the 10th and the 25th percentile, which no disturbance reaches.
    """
    ratio = np.log(np.maximum(times, 1e-12) / np.maximum(usual, 1e-12))
    low, quarter = quantile(ratio, 0.1), quantile(ratio, 0.25)
    noise = (quarter - low) / 0.607
    return np.asarray(ratio > max(np.log(min_ratio), min_size * noise))


def _same(period: float | None, planned: float | None, tolerance: float) -> bool:
    """The slow steps have the planned period, or a multiple of it that the log resolves."""
    if not period or not planned:
        return False
    ratio = period / planned
    return round(ratio) >= 1 and abs(ratio - round(ratio)) < tolerance
