"""Right answers are not rewarded.

## What it looks for
Samples that carry a reference answer: the share of those whose final answer equals it, letter by letter, and that got
a reward in the lower half of the range. Its lower bound (Wilson, 95 %) has to exceed `share`.

## Why it matters
A verifier that misses right answers punishes what it should teach. Where nearly none is paid, the reference belongs to
another prompt or the sign is wrong; where some are, verdicts are noisy or the parser is too narrow.

## When it is a false alarm
A reward that also asks for form, length or a process, which right answers can lack; a dump whose reference column is
not what the reward compares with.

## Fix
- Print ten right answers that were not paid, with what the verifier extracted from them.
- Check that answers and prompts are joined by id, and not by position, after shuffling and filtering.

## Smallest experiment
Score the reference answers themselves: each has to get the full reward.

## References
https://arxiv.org/abs/2505.22203
"""

from __future__ import annotations

from firstbreak.detectors.reward._verdicts import verdicts
from firstbreak.model import Confidence, Finding, NotMeasured, Samples, Severity
from firstbreak.stats.proportion import wilson
from firstbreak.words import percent


def detect(
    samples: Samples,
    *,
    share: float = 0.1,
    grave: float = 0.5,
    min_right: int = 8,
) -> Finding | NotMeasured | None:
    compared = verdicts(samples)
    if not compared:
        return NotMeasured("no samples with a reward and a reference answer that could be compared")
    right = [v for v in compared if v.right]
    if len(right) < min_right:
        return NotMeasured(f"{len(right)} right answers among the samples are too few (needs {min_right})")
    missed = [v for v in right if not v.paid]
    low, _ = wilson(len(missed), len(right))
    if low <= share:
        return None
    first = min(v.step for v in missed)
    return Finding(
        message=(
            f"{len(missed)} of {len(right)} answers that equal the reference were not rewarded "
            f"({percent(len(missed) / len(right))}): score the reference answers themselves, each must get the full "
            "reward"
        ),
        severity=Severity.CRITICAL if low > grave else Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="reward.mean",
        onset=first,
        interval=(min(v.step for v in compared), first),
        facts={"share": len(missed) / len(right), "right": len(right)},
    )
