"""Whether a fault can be seen in what a stranger brings: do its curves differ from those of its healthy twins?

Both groups are shown in the same way: the runs of this fault, base and severity, and the unchanged runs of the base, each
with all its seeds. Each curve gives five numbers a run: its level, how far it moves from the first to the second half, its
spread, its late value, and the share of points that are finite. One statistic takes all of them together, sum of
log(1 + t^2 / (n - 2)) with Student's t, and is compared with all assignments of the seeds to the two groups (Fisher, "The
Design of Experiments", 1935). Five seeds against five have 252 assignments, so p is never below 2/252. Over all rows, the
procedure of Benjamini and Hochberg (J. R. Stat. Soc. B 57, 1995) keeps the share of faults that are counted and have no mark
at 5 %.

A clock shows the load of the machine as well, so clocks count for faults of the systems alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from firstbreak_lab.running import Label

from benchmarks.abroad.stranger import Curve, Draw, shown
from firstbreak.model import Link, Run

FALSE_DISCOVERIES = 0.05
LATE = 0.2  #: share of a curve
STILL = 1e-6  #: spread within the groups, relative to the size of the numbers, below which it counts as this
COUNTERS = frozenset({"train/n_updates", "num_tokens"})
CLOCKS = frozenset({"time/fps", "charts/SPS", "step_time", "eval_runtime"})


def p_value(faulty: Sequence[Run], twins: Sequence[Run], label: Label, draw: Draw) -> float:
    """Of the hypothesis that the runs with the fault look like their twins in this draw; 1 where there is nothing to compare."""
    groups = [[shown(run, draw, label.steps) for run in runs] for runs in (faulty, twins)]
    every = [curves for group in groups for curves in group]
    names = [name for name in draw.names if any(name in curves for curves in every) and counts(name, label)]
    numbers = np.array([[x for name in names for x in summary(curves.get(name))] for curves in every])
    return permuted(numbers[:, np.isfinite(numbers).all(0)], len(faulty)) if names else 1.0


def counts(name: str, label: Label) -> bool:
    """Whether a difference of this curve is a mark of the fault."""
    clock = name in CLOCKS or name.startswith(("timeperf/", "timing_s/"))
    return name not in COUNTERS and (not clock or label.link == Link.SYSTEMS)


def summary(curve: Curve | None) -> tuple[float, ...]:
    """Level, movement, spread, late value, and the share of finite points."""
    values = curve[1] if curve is not None else np.empty(0)
    finite = values[np.isfinite(values)]
    if len(finite) < 2:
        return (np.nan, np.nan, np.nan, np.nan, len(finite) / max(1, len(values)))
    half = len(finite) // 2
    late = finite[-max(1, round(LATE * len(finite))) :].mean()
    spread = np.diff(finite).std() if len(finite) > 2 else 0.0
    return (finite.mean(), finite[half:].mean() - finite[:half].mean(), spread, late, len(finite) / len(values))


def permuted(numbers: np.ndarray, first: int) -> float:
    """Share of the assignments whose statistic is at least that of the first `first` rows against the others.

    `numbers` has shape (runs, summaries), all finite.
    """
    n = len(numbers)
    if not numbers.shape[1] or first < 2 or n - first < 2:
        return 1.0
    groups = np.array(list(combinations(range(n), first)))  # the first one is what was observed
    member = np.zeros((len(groups), n))
    np.put_along_axis(member, groups, 1.0, axis=1)
    centred = numbers - numbers.mean(0)
    total = member @ centred
    means = total / first, -total / (n - first)
    within = (centred**2).sum(0) - first * means[0] ** 2 - (n - first) * means[1] ** 2
    floor = (STILL * np.maximum(np.abs(numbers).max(0), STILL)) ** 2
    t2 = (means[0] - means[1]) ** 2 / (np.maximum(within / (n - 2), floor) * (1 / first + 1 / (n - first)))
    statistic = np.log1p(t2 / (n - 2)).sum(1)
    return float((statistic >= statistic[0] * (1 - 1e-9)).mean())


def discoveries(p: Sequence[float], level: float = FALSE_DISCOVERIES) -> list[bool]:
    """Benjamini and Hochberg: which of these hypotheses are rejected."""
    ordered = np.sort(np.asarray(p, float))
    good = np.flatnonzero(ordered <= level * np.arange(1, len(ordered) + 1) / max(1, len(ordered)))
    limit = ordered[good[-1]] if len(good) else -1.0
    return [value <= limit for value in p]


def power(shift: float, summaries: int, moved: int, seeds: int = 5, limit: float = FALSE_DISCOVERIES) -> float:
    """Share of faults that are seen at p <= `limit` if `moved` of the summaries shift by so many standard deviations."""
    rng = np.random.default_rng(0)
    by = np.zeros((2 * seeds, summaries))
    by[:seeds, :moved] = shift
    return float(np.mean([permuted(rng.normal(size=by.shape) + by, seeds) <= limit for _ in range(200)]))
