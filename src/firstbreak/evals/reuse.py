"""How much of a score can come from repeated evaluation on the same split.

Every decision that uses a score overfits the split a little. `luck` says how much the best of several equally good
candidates stands out by chance: this much is expected. `ladder_bound` says how much an adversary could have gained: more
than this is ruled out.
"""

import math
from statistics import NormalDist


def luck(evaluations: int, error: float) -> float:
    """Expected lead of the best of `evaluations` equally good candidates, measured with standard error `error` each.

    The expected largest of n normal deviates (Blom 1958; within 1 % from n = 3 on).
    """
    if evaluations < 2:
        return 0.0
    return error * NormalDist().inv_cdf((evaluations - 0.375) / (evaluations + 0.25))


def ladder_bound(size: int, evaluations: int, improvements: int, miss: float = 0.05) -> float:
    """The largest difference between the reported and the true score of a split, except with probability `miss`.

    The result is a share of the range of one problem's score, for as many candidates as there are `evaluations`. Each
    candidate may depend on all earlier scores, but only the `improvements` that beat the best score so far were used (the
    Ladder of Blum & Hardt 2015). Then there are sum_{j <= b} C(k, j) (n + 1)^j possible histories of scores. Each of them
    determines k candidates, and Hoeffding's inequality holds for all of them together. 1 where nothing is ruled out.
    """
    if size < 1 or evaluations < 1:
        return 1.0
    improvements = min(improvements, evaluations)
    histories = [_log_choose(evaluations, j) + j * math.log(size + 1) for j in range(improvements + 1)]
    most = max(histories)
    log_histories = most + math.log(sum(math.exp(history - most) for history in histories))
    # once for the number of improvements, which was not fixed in advance; once for the candidates of a history
    union = log_histories + math.log(evaluations + 1) + math.log(evaluations) + math.log(1 / miss)
    return min(1.0, math.sqrt(union / (2 * size)))


def improvements(scores: list[float]) -> int:
    """How often a score was better than all scores before it. The first score does not count."""
    best, count = -math.inf, -1
    for score in scores:
        if score > best:
            best, count = score, count + 1
    return max(0, count)


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
