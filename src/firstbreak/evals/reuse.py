"""How much of a score can come from looking at the same split again and again.

Every decision that a score went into fits the split a little. `luck` says how much the best of several equally good
candidates stands out by chance, which is what to expect; `ladder_bound` says how much an adversary could have gained, which
is what can be ruled out.
"""

from __future__ import annotations

import math
from statistics import NormalDist


def luck(looks: int, error: float) -> float:
    """Expected lead of the best of `looks` equally good candidates, measured with standard error `error` each.

    The expected largest of n normal deviates (Blom 1958; within 1 % from n = 3 on).
    """
    if looks < 2:
        return 0.0
    return error * NormalDist().inv_cdf((looks - 0.375) / (looks + 0.25))


def ladder_bound(size: int, looks: int, improvements: int, miss: float = 0.05) -> float:
    """Most that the reported score of a split can lie above the true one, but with probability `miss`.

    In shares of the range of one problem's score, for `looks` candidates of which each may depend on all that was told
    before, where only the `improvements` that beat the best score so far were acted upon (the Ladder of Blum & Hardt
    2015). What the analyst was told is then one of sum_{j <= b} C(k, j) (n + 1)^j stories, each of which fixes k
    candidates, and Hoeffding's inequality holds for all of them together. 1 where it rules out nothing.
    """
    if size < 1 or looks < 1:
        return 1.0
    improvements = min(improvements, looks)
    stories = [_log_choose(looks, j) + j * math.log(size + 1) for j in range(improvements + 1)]
    most = max(stories)
    log_stories = most + math.log(sum(math.exp(story - most) for story in stories))
    # once for the number of improvements, which was seen and not foreseen; once for the candidates of a story
    union = log_stories + math.log(looks + 1) + math.log(looks) + math.log(1 / miss)
    return min(1.0, math.sqrt(union / (2 * size)))


def improvements(scores: list[float]) -> int:
    """How often a score beat the best one before it; the first is none."""
    best, count = -math.inf, -1
    for score in scores:
        if score > best:
            best, count = score, count + 1
    return max(0, count)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
