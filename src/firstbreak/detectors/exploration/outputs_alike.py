"""All outputs look the same.

## What it looks for
Behaviour-level diversity where it is logged (share of distinct outputs), or lengths whose spread within a step
vanishes: shortest and longest completion of a step become equal and stay so.

## Why it matters
Token entropy can stay up while every answer follows one template. A policy with a single strategy no longer explores,
and the reward of a group cannot tell its members apart.

## When it is a false alarm
Tasks with one right answer of fixed length, once solved. Answers of a fixed form (one line of JSON): lengths become
equal as the policy learns the form, and the entropy holds; equal lengths from the start are another matter. Answers of
one length whose rewards differ within a group (the number of an action) are not the same answer.

## Fix
- Raise {temperature}; check that rollouts are sampled and not greedy; check that seeds differ between workers.
- Read ten completions of one prompt.

## Smallest experiment
Sample one prompt 32 times from an early and from the latest checkpoint, and count distinct outputs.

## References
https://arxiv.org/abs/2310.06452
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import percent


def detect(
    diversity: dict[str, Series] | None = None,
    length_min: Series | None = None,
    length_max: Series | None = None,
    solved: bool | None = None,
    truncation: Series | None = None,
    policy_entropy: Series | None = None,
    silent_groups: Series | None = None,
    *,
    few: float = 0.1,
    min_points: int = 20,
) -> Finding | Expected | NotMeasured | None:
    distinct = next((s.finite for s in (diversity or {}).values() if len(s.finite) >= min_points), None)
    if distinct is not None:
        curve = distinct
        late = float(np.median(curve.tail(0.25).values))
        alike, what = late < few, f"{percent(late)} of the outputs are distinct"
        since = first_sustained(curve, lambda values: values < few)
    elif length_min is not None and length_max is not None and len(length_min.finite) >= min_points:
        curve = length_max.finite
        low = np.interp(curve.steps, length_min.finite.steps, length_min.finite.values)
        equal = (low == curve.values).astype(float)
        cut = truncation is not None and float(np.median(truncation.finite.tail(0.25).values)) > 0.5
        a_form = float(np.mean(equal[: len(equal) // 10 + 1])) < 0.5 and _as_open(policy_entropy)
        differ = silent_groups is not None and float(np.mean(silent_groups.finite.tail(0.25).values)) < 0.9
        alike = float(np.mean(equal[-len(equal) // 4 :])) > 0.9 and not cut and not a_form and not differ
        what = "the shortest and the longest completion of a step have the same length"
        since = float(curve.steps[np.argmax(equal)])
    else:
        return NotMeasured("neither distinct outputs nor shortest and longest lengths are logged")
    if not alike:
        return None
    if solved:
        return Expected(f"{what} because the task is solved")
    return Finding(
        message=f"{what}: the policy has one strategy left; read ten completions of one prompt",
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        metric=curve.name,
        onset=since,
        interval=None if since is None else (since, since),
        evidence=(Evidence(text=curve.name, series=curve, since=since),),
    )


def _as_open(entropy: Series | None) -> bool:
    """Whether the tokens are as open as at the start."""
    points = entropy.finite if entropy is not None else None
    if points is None or len(points) < 4:
        return False
    early, late = (float(np.median(part.values)) for part in (points.head(0.25), points.tail(0.25)))
    return late > 0 and late >= 0.8 * early
