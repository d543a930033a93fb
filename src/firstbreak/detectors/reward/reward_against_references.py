"""The reward falls as answers come nearer to their references.

## What it looks for
Samples that carry a reference answer and a reward of many values: within each prompt, the correlation of the reward with the
likeness of answer and reference, in the first and in the last third of the run. Its upper bound (95 %) has to lie below
`against`.

## Why it matters
A reward model that prefers wrong answers teaches them. From the start on, its preferences are the wrong way round: chosen and
rejected are swapped, or the sign is wrong. Only later on, the policy has left the texts that the model was trained on.

## When it is a false alarm
A reward for something else than being right (style, length, safety); references in another form than answers.

## Fix
- Read ten pairs of the preference data: is the chosen answer the better one?
- Score right and wrong answers to ten prompts with the reward model before training on it.

## Smallest experiment
The reward model's accuracy on a hundred pairs that were labelled by hand.

## References
https://arxiv.org/abs/2401.06080
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from firstbreak.detectors.reward._verdicts import GRADES, answer_and_reference, first, likeness, pairs
from firstbreak.model import Confidence, Finding, NotMeasured, Samples, Severity
from firstbreak.words import number

Prompt = tuple[float, str]  #: step, text
Judged = tuple[float, float]  #: likeness to the reference, reward


def detect(samples: Samples, *, against: float = -0.1, min_samples: int = 24) -> Finding | NotMeasured | None:
    judged: defaultdict[Prompt, list[Judged]] = defaultdict(list)
    for sample in first(samples):
        answer, reference = answer_and_reference(sample)
        if reference and sample.reward is not None and math.isfinite(sample.reward):
            alike = likeness(pairs(answer), pairs(reference))
            judged[sample.step or 0.0, str(sample.prompt)].append((alike, sample.reward))
    if len({reward for group in judged.values() for _, reward in group}) <= GRADES:
        return NotMeasured("no samples with a reference answer and a reward of many values")
    start, end = min(step for step, _ in judged), max(step for step, _ in judged)
    early = _correlation([g for (step, _), g in judged.items() if step <= start + (end - start) / 3], min_samples)
    late = _correlation([g for (step, _), g in judged.items() if step >= end - (end - start) / 3], min_samples)
    if early is None and late is None:
        return NotMeasured(f"fewer than {min_samples} samples whose reward and likeness differ within a prompt")
    from_start = early is not None and early[1] < against
    if not from_start and (late is None or late[1] >= against):
        return None
    low, high = early if from_start and early else late or (0.0, 0.0)
    since = start if from_start else end - (end - start) / 3
    asked = (
        "are chosen and rejected swapped, or is the sign wrong" if from_start else "has the policy left what it knows"
    )
    return Finding(
        message=(
            f"the nearer an answer is to its reference, the less it earns (correlation {number(low)} to {number(high)} in the "
            f"{'first' if from_start else 'last'} third of the run): {asked}? read ten samples with their rewards"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if from_start else Confidence.MEDIUM,
        metric="reward.mean",
        onset=since,
        interval=(start, since),
        facts={"from_start": from_start, "high": high},
    )


def _correlation(groups: Sequence[Sequence[Judged]], min_samples: int) -> tuple[float, float] | None:
    """Correlation within prompts, 95 % interval by Fisher's transform; None where too few samples differ."""
    centred = [np.array(g) - np.mean(g, axis=0) for g in groups if len(g) > 1 and np.ptp(np.array(g), axis=0).all()]
    n = sum(map(len, centred))
    if n < min_samples:
        return None
    alike, reward = np.concatenate(centred).T
    r = float((alike * reward).sum() / math.sqrt((alike**2).sum() * (reward**2).sum()))
    half = 1.96 / math.sqrt(max(1, n - len(centred) - 3))
    middle = math.atanh(max(-0.999, min(0.999, r)))
    return math.tanh(middle - half), math.tanh(middle + half)
