"""The sign of the reward changes from one step to the next, and its size stays.

Looks for: A step at which the mean reward changes its sign and keeps its size (within `tolerance`), by more than
`min_jump` times the standard deviation of the steps before, after updates of the usual size. Before that step, at least
`min_share` of the rewards had one sign.
Why: A policy cannot reverse its reward in one update, and least of all to the same size. The reward was multiplied by
-1, or the labels of a judge were swapped. From that step on, training rewards the opposite.
False alarm: A reward that is centred on purpose from some step on. A reward that is one value until the first success,
and varies from then on, is not reported.
Fix:
- Score ten samples from before that step by hand, with the reward of then and of now.
- Look for what was changed, resumed or switched on at that step: a schedule of reward weights, a new version of the judge.
Experiment: Resume from the checkpoint before that step with a learning rate near 0, and score samples whose reward is
known.
References: https://arxiv.org/abs/1909.08593
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.points import median, medians
from firstbreak.model import Confidence, Finding, Role, Series, Severity

ROLES = (Role.RELATION,)

WINDOW = 5  #: steps on each side that show the level


def detect(
    reward_mean: Series,
    kl_ref: Series | None = None,
    kl_old: Series | None = None,
    policy: Policy = Policy.TEXT,
    *,
    tolerance: float = at(0.4, "share", "So much it may change: nine faults, none of 482 other runs.", "lab"),
    min_jump: float = at(5.0, "standard deviations", "A smaller jump can be noise.", "lab"),
    min_share: float = at(0.95, "share", "What crosses 0 all the time has no sign to lose.", "lab"),
    max_kl_ratio: float = at(5.0, "ratio", "After more, the policy itself may have changed.", "lab"),
    min_points: int = at(20, "points", "Fewer points do not show the usual spread of the reward."),
) -> Finding | None:
    rewards = enough(reward_mean.finite, min_points, "mean rewards")
    at = _turn(rewards.values, tolerance, min_jump, min_share)
    if at is None:
        return None
    before, after = (median(part) for part in _sides(rewards.values, at))
    last, first = float(rewards.steps[at - 1]), float(rewards.steps[at])
    sizes = [s.finite.between(-np.inf, last).values for s in (kl_ref, kl_old) if s is not None]
    logged = [s for s in sizes if len(s) >= 2 * WINDOW]
    if any(np.max(s[-2:]) > max_kl_ratio * max(float(np.quantile(s[:-2], 0.9)), 1e-6) for s in logged):
        return None  # the policy had just jumped: anything may follow
    suspects = "a minus sign, or swapped labels" if policy is Policy.TEXT else "a minus sign, or another wrapper"
    return graded(
        Severity.CRITICAL if logged else Severity.WARNING,
        "the mean reward was {before} up to {last} and is {after} from {first} on: no update reverses a reward; look for a "
        "change there: {suspects}",
        seen_since(rewards, "mean reward", first, (last, first), level=-before),
        before=facts.median(rewards.between(float(rewards.steps[at - WINDOW]), last)),
        last=facts.at(rewards, last),
        after=facts.median(rewards.between(first, float(rewards.steps[at + WINDOW - 1]))),
        first=facts.at(rewards, first),
        suspects=suspects,
        confidence=Confidence.HIGH if logged else Confidence.MEDIUM,
        numbers={"before": before, "after": after},
    )


def _sides(values: np.ndarray, at: int) -> tuple[np.ndarray, np.ndarray]:
    return values[at - WINDOW : at], values[at : at + WINDOW]


def _turn(values: np.ndarray, tolerance: float, min_jump: float, min_share: float) -> int | None:
    """The first index from which on values have the size of those before, and the opposite sign."""
    levels = medians(sliding_window_view(values, WINDOW))
    befores, afters = levels[:-WINDOW], levels[WINDOW:]
    turned = (befores * afters < 0) & (np.abs(befores + afters) <= tolerance * np.abs(befores))
    at_once = np.abs(np.diff(values)[WINDOW - 1 : len(values) - WINDOW]) > np.abs(befores)
    for k in map(int, np.flatnonzero(turned & at_once) + WINDOW):
        earlier, later = _sides(values, k)
        before, after = float(levels[k - WINDOW]), float(levels[k])
        if np.ptp(earlier) == 0 < np.ptp(later):  # a first success is no reversal
            continue
        if abs(before - after) > min_jump * float(np.std(values[max(0, k - 4 * WINDOW) : k])):
            same = np.mean(np.sign(values[:k]) == np.sign(before))
            if same >= min_share and np.all(np.sign(later) == np.sign(after)):
                return k
    return None
