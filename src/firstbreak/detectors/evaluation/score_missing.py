"""No score is recorded, so nothing in the log says whether the policy improves.

## What it looks for
Any evaluation, success rate or task reward with at least one number in it.

## Why it matters
A loss cannot stand in for a score in reinforcement learning: it measures the update, not the policy. GRPO's loss is
near 0 in the best of runs, and a critic's loss grows while the return is at its maximum. Without a score a run can go
wrong for as long as it lasts before anyone sees it.

## When it is a false alarm
The score was logged under a name that was not understood: where recorded names look like one, the finding lists them and
is only a notice. It was logged to another place than the one that was read. A few lines cut out of a log need not hold
it, and where the loss itself is 0 or NaN throughout, that comes first: there it is only a notice, too. In supervised
training the loss is the score.

## Fix
- Log the mean task reward of every batch, before shaping.
- Log an evaluation on held-out prompts or in a separate environment, every {eval_interval} steps.

## Smallest experiment
Evaluate the first and the last checkpoint once, with the same protocol: the difference is what the run has bought.

## References
https://arxiv.org/abs/1709.06560
https://huggingface.co/docs/trl/grpo_trainer
"""

from __future__ import annotations

import re

from firstbreak.model import Confidence, Finding, NotMeasured, Run, Series, Severity

LIKE_A_SCORE = re.compile(r"reward|return|score|accura|success|win_?rate|pass@|solve|\brew\b", re.IGNORECASE)
SHOWN = 3
EXCERPT = 5  #: points: fewer are a few lines of a log


def detect(run: Run, score: Series | None = None, loss_total: Series | None = None) -> Finding | NotMeasured | None:
    if score is not None:
        return None
    if not run.series and not run.unknown:
        return NotMeasured("no curve was read")
    empty = loss_total is not None and not loss_total.finite.values.any()
    points = max(map(len, run.series.values()), default=EXCERPT)
    similar = [name for name in run.unknown if LIKE_A_SCORE.search(name)][:SHOWN]
    hint = f" (not understood, though it may be one: {', '.join(similar)})" if similar else ""
    return Finding(
        message=(
            f"none of the {len(run.series) + len(run.unknown)} recorded curves is a score{hint}: nothing shows whether "
            "the policy improves; log the mean task reward, or evaluate the first and the last checkpoint"
        ),
        severity=Severity.WARNING if points >= EXCERPT and not empty and not similar else Severity.NOTICE,
        confidence=Confidence.MEDIUM if similar else Confidence.HIGH,
        facts={"similar": similar},
    )
