"""Completions repeat themselves.

More than a fifth of the sequences at a completion's end are repeats, in far more samples than in the beginning.
Harmless in tables and code.
"""

import numpy as np

from firstbreak.audit.metrics.repetition import measure
from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.model import Confidence, Link
from firstbreak.words import percent

LINK = Link.ROLLOUT
REPEATS = 0.2
MORE = 0.2  #: of the samples, beyond the share of the beginning


def examine(evidence: AuditInputs) -> Found:
    before = _share([measure(sample) for sample in evidence.table.baseline()])
    now = _share([measure(sample) for sample in evidence.latest])
    if now < before + MORE:
        return None
    side = evidence.sides["repetition"]
    return side.finding(
        f"{percent(now)} of the latest completions repeat themselves, {percent(before)} in the beginning"
        f"{', and repetition is rewarded' if side.rewarded else ''}. Read three of them to the end",
        confidence=Confidence.HIGH if side.shifted > 0 else Confidence.MEDIUM,
        share=now,
        baseline=before,
    )


def _share(values: list[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return float(np.mean([value > REPEATS for value in finite])) if finite else 0.0
