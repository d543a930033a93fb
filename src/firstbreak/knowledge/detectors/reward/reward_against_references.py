"""The reward falls the more an answer resembles its reference.

## What it looks for
Samples that carry a reference answer and a reward of many values. Within each prompt, the correlation of the reward with
the likeness of answer and reference, in the first and in the last third of the run. The check reports where the upper
bound (95 %) lies below `max_correlation`.

## Why it matters
A reward model that prefers wrong answers teaches them. If the correlation is negative from the start, the preferences
have the wrong direction: chosen and rejected are swapped, or the sign is wrong. If the correlation becomes negative
later, the policy has left the texts that the reward model was trained on.

## When it is a false alarm
A reward for something else than right answers (style, length, safety). References in another form than the answers.

## Fix
- Read ten pairs of the preference data: is the chosen answer the better one?
- Score right and wrong answers to ten prompts with the reward model before training on it.

## Smallest experiment
Measure the accuracy of the reward model on a hundred pairs that were labelled by hand.

## References
https://arxiv.org/abs/2401.06080
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors.reward._verdicts import answer_and_reference, first, likeness, pairs
from firstbreak.model import Confidence, Finding, NotMeasured, Samples, Severity
from firstbreak.words import number

Prompt = tuple[float, str]  #: step, text
Judged = tuple[float, float]  #: likeness to the reference, reward


def detect(
    samples: Samples,
    trajectory: Trajectory | None = None,
    *,
    max_correlation: float = at(-0.1, "correlation", "A weaker negative correlation can come from style or length."),
    min_samples: int = at(24, "samples", "Fewer samples give too wide an interval of the correlation."),
    max_grades: int = at(8, "values", "A reward with at most so many values says right or wrong, and is no score."),
) -> Finding | NotMeasured | None:
    judged: defaultdict[Prompt, list[Judged]] = defaultdict(list)
    for sample in first(samples):
        answer, reference = answer_and_reference(sample)
        if reference and sample.reward is not None and math.isfinite(sample.reward):
            alike = likeness(pairs(answer), pairs(reference))
            judged[sample.step or 0.0, str(sample.prompt)].append((alike, sample.reward))
    if len({reward for group in judged.values() for _, reward in group}) <= max_grades:
        return NotMeasured("no samples with a reference answer and a reward of many values")
    start, end = min(step for step, _ in judged), max(step for step, _ in judged)
    early = _correlation([g for (step, _), g in judged.items() if step <= start + (end - start) / 3], min_samples)
    late = _correlation([g for (step, _), g in judged.items() if step >= end - (end - start) / 3], min_samples)
    if early is None and late is None:
        return NotMeasured(f"fewer than {min_samples} samples whose reward and likeness differ within a prompt")
    from_start = early is not None and early[1] < max_correlation
    if not from_start and (late is None or late[1] >= max_correlation):
        return None
    low, high = early if from_start and early else late or (0.0, 0.0)
    since = start if from_start else end - (end - start) / 3
    meaning = (
        "chosen and rejected are swapped, or the sign is wrong"
        if from_start
        else "the policy may have left the texts that the reward model knows"
    )
    return Finding(
        message=(
            f"answers that resemble their reference more get less reward (correlation {number(low)} to {number(high)} in the "
            f"{'first' if from_start else 'last'} third of the run): {meaning}; read ten samples with their rewards"
        ),
        # a score that rises and is not lost: what stands beside the answers may be no reference of this reward
        severity=Severity.NOTICE if trajectory is not None and trajectory.learned else Severity.CRITICAL,
        confidence=Confidence.HIGH if from_start else Confidence.MEDIUM,
        metric="reward.mean",
        onset=since,
        interval=(start, since),
        numbers={"from_start": from_start, "high": high},
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
