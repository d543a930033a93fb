"""Every training episode begins alike, or every batch has the same prompts.

Looks for: In a table of episodes, columns that say how an episode begins (start, goal, layout, number of walls, ...).
A finding is that none of them changes in `min_episodes` episodes or more of each worker, while the evaluation, which has
other episodes, is worse than training by `min_gap` of a share of successes, or of what training gained. Without an
evaluation it is less certain. Of dumped samples: the prompts of `min_dumps` steps or more are the same, and fewer than a
tenth of the prompts that the configuration counts.
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
from itertools import islice

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_as, seen_in, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors.rollout.samples_identical import WORKER
from firstbreak.model import Confidence, Finding, NotMeasured, Role, Run, Samples, Series
from firstbreak.patterns import pattern

ROLES = (Role.RELATION,)
SIZE = pattern(
    r"(?:num|n|prompt|train)?_?(?:train_?)?(?:prompts?|questions|problems|dataset|data|train)_?(?:dataset_?)?(?:size)?",
    re.IGNORECASE,
)
FEW = 0.1  #: of the prompts that there are (convention)
MOST_SAMPLES = 20_000
BEGINS = pattern(
    r"(?:(?:start|goal|spawn)(?:_?(?:x|y|z|row|col|pos(?:ition)?|state|cell|id|\d))?|(?:layout|maze)(?:_?(?:id|seed))?"
    r"|(?:n|num)_?(?:walls|obstacles))",
    re.IGNORECASE,
)


def detect(
    run: Run,
    success_rate: Series | None = None,
    eval_success_rate: Series | None = None,
    reward_mean: Series | None = None,
    eval_reward: Series | None = None,
    eval_accuracy: Series | None = None,
    samples: Samples | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    min_episodes: int = at(30, "episodes", "So many starts that are drawn are not all equal."),
    min_gap: float = at(0.2, "share", "Of successes, or of what training gained: a harder evaluation costs less."),
    min_dumps: int = at(3, "steps", "Two steps may have drawn the same."),
    late: float = at(0.25, "share", "of the run: where training and evaluation are compared"),
) -> Finding | NotMeasured | None:
    if policy is Policy.TEXT:
        return _prompts(run, samples, _gap(reward_mean, eval_accuracy, late, 1.0), min_dumps, min_gap)
    columns = [
        s for name, s in run.unknown.items() if len(s) >= min_episodes and BEGINS.fullmatch(name.rpartition("/")[2])
    ]
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


def _prompts(
    run: Run, samples: Samples | None, gap: float | None, min_dumps: int, min_gap: float
) -> Finding | NotMeasured | None:
    """The prompts of the dumped steps are the same few of many."""
    asked: dict[float, set[str]] = {}
    for sample in islice(samples or (), MOST_SAMPLES):
        if sample.step is not None and sample.prompt and sample.meta.get("split") != "eval":
            asked.setdefault(sample.step, set()).add(sample.prompt)
    there = [v for k, v in run.config.raw.items() if SIZE.fullmatch(k.rpartition(".")[2]) and isinstance(v, int)]
    if len(asked) < min_dumps or not there:
        return NotMeasured("no prompts of several steps are dumped, or the configuration does not count them")
    every, fewest = set().union(*asked.values()), min(map(len, asked.values()))
    if fewest < 2 or len(every) > fewest or len(every) > FEW * max(there):
        return None
    return warning(
        f"the {len(every)} prompts of {len(asked)} dumped steps are the same, and there are {max(there)}: the loader begins "
        "anew at each step; take one iterator over the data for the whole run",
        seen_as("samples", min(asked)),
        confidence=Confidence.HIGH if gap is not None and gap >= min_gap else Confidence.MEDIUM,
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
