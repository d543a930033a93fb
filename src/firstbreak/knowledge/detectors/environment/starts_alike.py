"""Every training episode begins in the same place, or has the same layout.

Looks for: In a table of episodes, columns that say how an episode begins (start, goal, layout, level, number of walls, ...).
A finding is that none of them changes in `min_episodes` episodes or more of each worker, while the evaluation, which has
other episodes, is worse than training by `min_gap` of a share of successes, or of what training gained. Without an
evaluation it is less certain.
Why: An environment that is reset with one seed each time gives one episode, again and again. The policy learns it by heart,
training looks solved, and nothing of it holds elsewhere. With one seed for each worker there are as many episodes as
workers.
False alarm: A task with one start and one goal by design: the evaluation has the same, and is as good.
Fix:
- Give a seed to the first `reset` only: `env.reset(seed=seed)` once, then `env.reset()`.
- Count the different starts in a hundred resets.
Experiment: Evaluate on the seeds of training: if the score is that of training, the policy knows only these.
References: https://gymnasium.farama.org/api/env/#gymnasium.Env.reset
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors.rollout.samples_identical import WORKER
from firstbreak.model import Confidence, Finding, NotMeasured, Role, Run, Series
from firstbreak.patterns import pattern

ROLES = (Role.RELATION,)
FAMILIES = only(Policy.CONTROL, why="only where episodes of an environment are played")
BEGINS = pattern(
    r"(?:^|[_/. ])(?:start|goal|target|spawn|init(?:ial)?|layout|map|maze|level|scene|walls?|obstacles?|seed)s?(?:$|[_./ ]|\d)",
    re.IGNORECASE,
)


def detect(
    run: Run,
    success_rate: Series | None = None,
    eval_success_rate: Series | None = None,
    reward_mean: Series | None = None,
    eval_reward: Series | None = None,
    *,
    min_episodes: int = at(30, "episodes", "So many starts that are drawn are not all equal."),
    min_gap: float = at(0.2, "share", "Of successes, or of what training gained: a harder evaluation costs less."),
    late: float = at(0.25, "share", "of the run: where training and evaluation are compared"),
) -> Finding | NotMeasured | None:
    columns = [s for name, s in run.unknown.items() if BEGINS.search(name) and len(s) >= min_episodes]
    if not columns:
        return NotMeasured("no column of a table of episodes says how they begin")
    worker = next((s for name, s in run.unknown.items() if WORKER.fullmatch(name.rpartition("/")[2])), None)
    fixed = [s for s in columns if _fixed(s, worker, min_episodes)]
    if len(fixed) < len(columns):
        return None
    gap = _gap(success_rate, eval_success_rate, late, 1.0)
    if gap is None and reward_mean is not None:
        gained = median(reward_mean.finite.tail(late).values) - float(reward_mean.finite.values[0])
        gap = _gap(reward_mean, eval_reward, late, max(gained, 1e-12))
    if gap is not None and gap < min_gap:
        return None
    several = worker is not None and worker.source == fixed[0].source
    return warning(
        "all {n} training episodes have the same {columns}{each}{but}: the environment is reset with one seed each time; give a "
        "seed to the first reset only",
        seen_in(fixed[0], fixed[0].name),
        n=facts.count(fixed[0]),
        each=" as the others of their worker" if several else "",
        columns=", ".join(s.name.rpartition("/")[2] for s in fixed[:3]),
        but=", and the evaluation is worse than training" if gap is not None else "",
        confidence=Confidence.MEDIUM if gap is None else Confidence.HIGH,
    )


def _fixed(column: Series, worker: Series | None, least: int) -> bool:
    """Whether a column never changes, or not within a worker, of which each has so many episodes."""
    if worker is None or worker.source != column.source or len(worker) != len(column):
        return float(np.ptp(column.values)) == 0
    each = [column.values[worker.values == one] for one in np.unique(worker.values)]
    return all(len(values) >= least and float(np.ptp(values)) == 0 for values in each)


def _gap(training: Series | None, evaluation: Series | None, late: float, unit: float) -> float | None:
    """How much worse the evaluation is at the end, in `unit`; None where one of the two is missing."""
    if training is None or evaluation is None or not len(training.finite) or not len(evaluation.finite):
        return None
    return (median(training.finite.tail(late).values) - median(evaluation.finite.tail(late).values)) / unit
