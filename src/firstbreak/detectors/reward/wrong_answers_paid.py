"""Wrong answers are rewarded.

## What it looks for
Samples that carry a reference answer: the share of the rewarded ones in which the reference does not stand anywhere. Its
lower bound (Wilson, 95 %) has to exceed `share`, in all samples or in those of the second half of the run.

## Why it matters
This is what reward hacking and lenient verifiers look like in the samples. A share that grows says that the policy has
found the gap; one that was there from the start says that the verifier has it.

## When it is a false alarm
Answers that are equal in another notation (1/2 and 0.5): then the share is there from the start and does not grow, and
right answers are paid as well.

## Fix
- Read ten rewarded samples without the reference in them, and say why the verifier paid.
- Add those to the verifier's tests, then go on from the checkpoint before the share grew.

## Smallest experiment
Score one batch of answers that are wrong by construction (shuffled references): nearly none may be paid.

## References
https://arxiv.org/abs/2210.10760
"""

from __future__ import annotations

from collections.abc import Sequence

from firstbreak.detectors.reward._verdicts import Verdict, verdicts
from firstbreak.model import Confidence, Finding, NotMeasured, Samples, Severity
from firstbreak.stats.proportion import wilson
from firstbreak.words import percent


def detect(
    samples: Samples,
    *,
    share: float = 0.15,
    grave: float = 0.5,
    min_paid: int = 8,
) -> Finding | NotMeasured | None:
    compared = verdicts(samples)
    if not compared:
        return NotMeasured("no samples with a reward and a reference answer that could be compared")
    paid = [v for v in compared if v.paid]
    if len(paid) < min_paid:
        return NotMeasured(f"{len(paid)} rewarded samples are too few (needs {min_paid})")
    if not any(v.right for v in paid) and all(not v.present for v in paid):
        return NotMeasured("no rewarded sample holds its reference: the reward compares with something else")
    middle = (min(v.step for v in compared) + max(v.step for v in compared)) / 2
    early, late = [v for v in paid if v.step <= middle], [v for v in paid if v.step > middle]
    low = max(_least(paid), _least(late))
    if low <= share:
        return None
    grows = _least(late) > _most(early)
    wrong = [v for v in paid if not v.present]
    first = min(v.step for v in wrong)
    return Finding(
        message=(
            f"{len(wrong)} of {len(paid)} rewarded samples do not hold the reference answer "
            f"({percent(len(wrong) / len(paid))}{', and ever more' if grows else ''}): read ten of them and say why "
            "the verifier paid"
        ),
        severity=Severity.CRITICAL if grows and low > grave else Severity.WARNING,
        confidence=Confidence.HIGH if grows else Confidence.MEDIUM,
        metric="reward.mean",
        onset=first,
        interval=(min(v.step for v in compared), first),
        facts={"share": len(wrong) / len(paid), "grows": grows},
    )


def _least(paid: Sequence[Verdict]) -> float:
    return wilson(sum(not v.present for v in paid), len(paid))[0] if paid else 0.0


def _most(paid: Sequence[Verdict]) -> float:
    return wilson(sum(not v.present for v in paid), len(paid))[1] if paid else 0.0
