"""The evaluation repeats exactly the same number while the policy changes.

Looks for: The last `min_repeats` or more evaluations are equal to the last digit, while the training reward, the
entropy or (for a language model) the KL divergence from the reference model has a trend over the same steps.
Why: Two different policies hardly ever score the same to the last digit. A score that does not change comes from
weights that do not change: the evaluation reads an old checkpoint, a copy that is never synchronised, or a cached
result. This curve cannot be used to choose a checkpoint.
False alarm: The score is at its maximum or has fallen to its minimum: a whole number that is the highest or lowest so
far, or any number that training reaches and never exceeds, such as the best return of a deterministic environment. Of a
share of successes near 1, the same few problems stay unsolved. A whole number from the first evaluation on (-21 in
Pong), which a greedy policy keeps until its first success, is only a notice. A score that rose before, and whose
repetition the training reward shares, is that of a policy that has settled: its entropy may still fall.
Fix:
- Log the policy version or a checksum of the weights beside each evaluation.
- Synchronise the evaluation's copy of the policy (and, in an environment, of the observation statistics) before each
  evaluation.
- Turn off the caching of evaluation results.
Experiment: Evaluate the weights in the trainer's own process once, with the same protocol. If the number differs from
the logged one, the evaluation used other weights.
References: https://stable-baselines3.readthedocs.io/en/master/guide/callbacks.html
https://github.com/huggingface/trl/issues/5312
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, from_point, graded, seen_since
from firstbreak.engine.families import Method, without
from firstbreak.engine.inputs import AT_CEILING
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Confidence, Expected, Finding, NotMeasured, Role, Run, Series, Severity
from firstbreak.words import number

ROLES = (Role.RELATION,)
FAMILIES = without(Method.SUPERVISED)
MEASURED = ("eval.loss", "eval.reward", "eval.pref.", "eval.policy.", "eval.kl", "eval.length")


def detect(
    eval_score: Series,
    reward_mean: Series | None = None,
    kl_ref: Series | None = None,
    policy_entropy: Series | None = None,
    run: Run | None = None,
    *,
    min_repeats: int = at(6, "evaluations", "fewer equal scores may be chance where a score has few possible values"),
    min_points: int = at(8, "points", "a training curve needs so many points to show a trend"),
    trend_level: float = at(0.99, "probability", "the trend of the training curve has to be beyond chance so far"),
    min_change: float = at(0.06, "share", "of the reward's level: it changes a little at a ceiling"),
    max_distance: float = at(0.03, "share", "of the score: training that explores comes this near to a ceiling"),
) -> Finding | Expected | NotMeasured | None:
    enough(eval_score, min_repeats, "evaluations", "to see a repetition")
    last = float(eval_score.values[-1])
    different = np.flatnonzero(eval_score.values != last)
    start = int(different[-1]) + 1 if len(different) else 0
    same = len(eval_score) - start
    if same < min_repeats:
        return None
    # The maximum and minimum of a task are whole numbers (500, -21, 0); a frozen 23.452 is neither.
    natural = last == round(last)
    if natural and start and last == np.max(eval_score.values):
        return Expected(_all(eval_score, start, "because the score is at its maximum"))
    if natural and start and last == np.min(eval_score.values):
        return None
    if _share_of_successes(eval_score) and last >= AT_CEILING:
        return Expected(_all(eval_score, start, "because hardly anything is left to solve"))
    since, interval = from_point(eval_score, start)
    if run is not None and _others_move(run, eval_score.between(since)):
        return None  # what else this evaluation measures changes: it uses the weights of each step
    if reward_mean is not None and _ceiling_of(last, reward_mean.between(since).finite, max_distance, min_points):
        return Expected(_all(eval_score, start, "which training reaches and never exceeds"))
    training = [s.between(since).finite for s in (reward_mean, kl_ref, policy_entropy) if s is not None]
    watched = [s for s in training if len(s) >= min_points]
    if not watched:
        return NotMeasured(_all(eval_score, start, "and no training curve shows whether the policy changed"))
    moving = [s for s in watched if not trend(s, level=trend_level).flat]
    reward = None if reward_mean is None else reward_mean.between(since).finite
    if (
        start > 1
        and reward is not None
        and len(reward) >= min_points
        and not any(s.name == reward.name for s in moving)
    ):
        return Expected(_all(eval_score, start, "and the training reward stays as well: the policy has settled"))
    if not moving or (reward is not None and not _changed(reward, min_change, min_points)):
        return None  # at a ceiling the same few problems stay unsolved, and the score stays the same
    return graded(
        Severity.NOTICE if natural else Severity.WARNING,
        "{repeated} changes: {reason}; evaluate once in the trainer's own process, and compare",
        seen_since(
            eval_score,
            f"{same} times {number(last)}",
            since,
            interval,
            level=last,
            along={"training goes on": moving[0]},
        ),
        repeated=_all(eval_score, start, f"while {moving[0].name}"),
        reason="the evaluation does not use the current weights"
        if not natural
        else "the score has not left its first level, or the evaluation does not use the current weights",
        confidence=Confidence.LOW if natural else Confidence.HIGH,
        numbers={"value": last, "repeats": same},
    )


def _others_move(run: Run, same: Series) -> bool:
    """Whether another number of the same evaluations goes on changing, time and counts left out."""
    beside = (
        s.between(float(same.steps[0])).finite
        for n, s in run.series.items()
        if n.startswith("eval.") and n != same.name
    )
    alike = (s for s in beside if s.source == same.source and np.array_equal(s.steps, same.steps))
    return any(s.name.startswith(MEASURED) and len(np.unique(s.values)) > len(s) // 2 for s in alike)


def _share_of_successes(scores: Series) -> bool:
    return float(np.min(scores.values)) >= 0 and float(np.max(scores.values)) <= 1


def _all(scores: Series, start: int, why: str) -> str:
    same = scores.between(float(scores.steps[start]))
    return facts.tell(
        "the last {same} evaluations are all exactly {last}, {why}",
        same=facts.count(same),
        last=facts.last(same),
        why=why,
    )


def _ceiling_of(value: float, training: Series, max_distance: float, min_points: int) -> bool:
    """Whether training, which explores, comes this near to the value, and never above it."""
    if len(training) < min_points:
        return False
    top = float(np.max(training.values))
    return top <= value and value - float(np.median(training.tail(0.5).values)) <= max_distance * abs(value)


def _changed(rewards: Series, share: float, min_points: int) -> bool:
    """Whether the training reward changed by more than this share of its level; where it has few points, it may have."""
    if len(rewards) < min_points:
        return True
    before, after = (float(np.mean(part.values)) for part in (rewards.head(0.2), rewards.tail(0.2)))
    return abs(after - before) > share * max(abs(before), abs(after))
