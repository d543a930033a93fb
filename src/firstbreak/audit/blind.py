"""The wall between what detectors may see and what only scoring may see.

A metric that could read the human's verdict would be a metric of the human. So a recorded sample is split in two before
anything looks at it: a `PolicySample`, which has no field for the truth, and an `Oracle`, which only `scoring` opens. The
types say so (mypy refuses the attribute), and the values are taken out of `meta`, so that no code can find them there.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from firstbreak.model import Sample

#: names under which dumps record what a person or a trusted grader has said of a sample, the plainest first
GOLD = (
    "human_score",
    "human_rating",
    "human",
    "gold_score",
    "gold_reward",
    "gold",
    "oracle",
    "true_score",
    "true_reward",
)
#: names under which dumps record the right answer
REFERENCE = (
    *("answer", "ground_truth", "gts", "reference_answer", "reference", "gold_answer", "solution", "target"),
    *("expected_answer", "label"),
)
HIDDEN = frozenset({*GOLD, *REFERENCE})


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySample:
    """What the policy was asked, what it wrote, and what it was paid: all that a metric or a judge ever sees."""

    step: float | None = None
    prompt: str = ""
    completion: str = ""
    reward: float | None = None
    rewards: Mapping[str, float] = field(default_factory=dict)  #: reward components by name
    group: str | None = None  #: samples of one prompt share it
    meta: Mapping[str, Any] = field(default_factory=dict)  #: the rest of the record, without the truth


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """What is known to be true of a sample. Nothing but `scoring` reads it."""

    score: float | None = None  #: a person's or a trusted grader's score, as it was recorded
    reference: str | None = None  #: the right answer


def split(sample: Sample) -> tuple[PolicySample, Oracle]:
    """A recorded sample as detectors may see it, and the truth about it. Both are without values where the dump is."""
    truths = {name: float(sample.rewards[name]) for name in GOLD if name in sample.rewards}
    recorded = {name: sample.meta[name] for name in (*GOLD, *REFERENCE) if name in sample.meta}
    seen = PolicySample(
        step=sample.step,
        prompt=sample.prompt,
        completion=sample.completion,
        reward=sample.reward if sample.reward is not None and math.isfinite(sample.reward) else None,
        rewards={name: x for name, x in sample.rewards.items() if name not in truths},
        group=sample.group,
        meta=_without(sample.meta),
    )
    scores = [truths.get(name, _number(recorded.get(name))) for name in GOLD] if truths or recorded else []
    references = (_text(recorded[name]) for name in REFERENCE if name in recorded)
    return seen, Oracle(
        score=next((x for x in scores if x is not None), None),
        reference=next((x for x in references if x is not None), None),
    )


def _without(value: Any, depth: int = 0) -> Any:
    """`value` with nothing under a hidden name, however deep it lies; beyond twenty levels nothing is kept."""
    if depth > 20:
        return None
    if isinstance(value, Mapping):
        kept = ((name, inner) for name, inner in value.items() if name not in HIDDEN)
        return {name: _without(inner, depth + 1) if isinstance(inner, dict | list) else inner for name, inner in kept}
    if isinstance(value, list):
        return [_without(inner, depth + 1) if isinstance(inner, dict | list) else inner for inner in value]
    return value


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, bool | int | float) and math.isfinite(value) else None


def _text(value: Any) -> str | None:
    """A short answer as text; a list of accepted answers by its first."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)
