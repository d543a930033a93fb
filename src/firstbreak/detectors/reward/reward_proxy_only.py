"""The reward rises through its cheap parts; the part that counts stands still.

## What it looks for
Among logged reward components, those that check the answer (by name: correct, answer, accuracy, success, ...) against
the rest (format, length, language, tags, ...): the total rises, the rest rises, and every answer part is constant or
falls, or has come no further than to `hardly` by the end of the run.

## Why it matters
The policy takes the easiest way to reward. Format can be learned without getting one answer right, and the total
looks like progress all the same.

## When it is a false alarm
Format first, answers later is a normal order of learning: an answer part that starts to rise clears it. An answer
part that was at its ceiling from the beginning.

## Fix
- Read the highest-rewarded completions of the latest checkpoint.
- Check that the answer can be extracted at all: the pattern of the answer check against a correct completion.
- Gate the cheap parts on a right answer, or lower their weight.

## Smallest experiment
Train 30 steps on the answer part alone: if it stays where it is, the answer is never extracted or never right.

## References
https://arxiv.org/abs/2209.13085
https://lilianweng.github.io/posts/2024-11-28-reward-hacking/
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.stats.direction import departure, falls, rises
from firstbreak.stats.trend import trend
from firstbreak.words import number


def detect(
    reward_component_mean: dict[str, Series],
    answer_parts: dict[str, Series],
    reward_mean: Series,
    *,
    min_points: int = 30,
    hardly: float = 0.02,
) -> Finding | NotMeasured | None:
    parts = {name: s.finite for name, s in reward_component_mean.items() if len(s.finite) >= min_points}
    answers = {name: s for name, s in parts.items() if name in answer_parts}
    others = {k: s for k, s in parts.items() if k not in answers}
    if not answers or not others:
        return NotMeasured("no component is known to check the answer" if parts else "the components are too short")
    if not rises(reward_mean) or any(_at_its_best(s) for s in answers.values()):
        return None
    payer = max(others, key=lambda k: trend(others[k]).change)
    if not rises(others[payer]):
        return None
    if any(rises(s) and _late(s) >= hardly for s in answers.values()):
        return None
    frozen = any(np.ptp(s.values) == 0 for s in answers.values())
    fell = any(falls(s) for s in answers.values())
    start = departure(others[payer])
    stuck = ", ".join(f"{k} {number(_late(s))}" for k, s in answers.items())
    return Finding(
        message=(
            f"the reward rises by {number(trend(reward_mean).change)} through {payer} alone, while what checks the "
            f"answer {'never moves' if frozen else 'falls' if fell else 'hardly rises'} ({stuck}): read the "
            "best-rewarded completions before going on"
        ),
        severity=Severity.CRITICAL if frozen or fell else Severity.WARNING,
        confidence=Confidence.HIGH if frozen or fell else Confidence.LOW,
        metric=others[payer].name,
        onset=start[0] if start else float(reward_mean.steps[0]),
        interval=start[1] if start else None,
        evidence=(
            Evidence(text="total reward", series=reward_mean),
            Evidence(text=f"what rises: {payer}", series=others[payer]),
            *(Evidence(text=f"what counts: {k}", series=s) for k, s in answers.items()),
        ),
        facts={"payer": payer, "frozen": frozen},
    )


def _at_its_best(series: Series) -> bool:
    """Already right most of the time: late values at the top of what was ever seen, and that top is positive."""
    top = float(series.values.max())
    return top > 0 and _late(series) >= 0.9 * top


def _late(series: Series) -> float:
    return float(np.median(series.tail(0.25).values))
