"""Splits each sample into what metrics may see and what only `scoring` may see.

A metric that reads the human's verdict would measure the human and not the policy. So each recorded sample is split first:
into a `PolicySample`, which has no field for the truth, and an `Oracle`, which only `scoring` reads. The types ensure this
(mypy refuses the attribute), and the values are removed from `meta`.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from firstbreak.model import Sample
from firstbreak.readers._samples import GOLD, REFERENCE
from firstbreak.readers.tool_turns import ToolTurn, last_words, tool_turns

HIDDEN = frozenset({*GOLD, *REFERENCE})
_GOLDEN = frozenset(GOLD)
_NESTED = (dict, list)
LONGEST = 400  #: characters of an ending


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicySample:
    """The prompt, the completion and the reward: all that a metric or a judge sees."""

    step: float | None = None
    prompt: str = ""
    completion: str = ""
    reward: float | None = None
    rewards: Mapping[str, float] = field(default_factory=dict)  #: reward components by name
    group: str | None = None  #: samples of one prompt share it
    meta: Mapping[str, Any] = field(default_factory=dict)  #: the rest of the record, without the truth
    turns: tuple[ToolTurn, ...] = ()  #: the calls of tools
    ending: str = ""  #: what is said after the last of them


@dataclass(frozen=True, slots=True, kw_only=True)
class Oracle:
    """The truth about a sample. Only `scoring` reads it."""

    score: float | None = None  #: a person's or a trusted grader's score, as it was recorded
    reference: str | None = None  #: the right answer


def split(sample: Sample) -> tuple[PolicySample, Oracle]:
    """Split a recorded sample into the visible part and the truth. Values that the dump lacks are None."""
    episode = sample.messages or sample.completion
    turns = tool_turns(episode)
    seen = PolicySample(
        step=sample.step,
        prompt=sample.prompt,
        completion=sample.completion,
        reward=sample.reward if sample.reward is not None and math.isfinite(sample.reward) else None,
        rewards={name: x for name, x in sample.rewards.items() if name not in _GOLDEN},
        group=sample.group,
        meta=_without(sample.meta),
        turns=turns,
        ending=last_words(episode)[-LONGEST:] if turns else "",
    )
    return seen, _oracle(sample)


def _oracle(sample: Sample) -> Oracle:
    if _GOLDEN.isdisjoint(sample.rewards) and HIDDEN.isdisjoint(sample.meta):
        return Oracle()
    scores = (sample.rewards.get(name, _number(sample.meta.get(name))) for name in GOLD)
    references = (_text(sample.meta.get(name)) for name in REFERENCE)
    return Oracle(
        score=next((float(x) for x in scores if x is not None), None),
        reference=next((x for x in references if x is not None), None),
    )


def _without(record: Mapping[str, Any], depth: int = 0) -> dict[str, Any]:
    """A record without hidden names at any depth. Beyond twenty levels nothing is kept."""
    return {name: _inside(value, depth) for name, value in record.items() if name not in HIDDEN}


def _inside(value: Any, depth: int) -> Any:
    if not isinstance(value, _NESTED):
        return value
    if depth > 20:
        return None
    return _without(value, depth + 1) if isinstance(value, dict) else [_inside(inner, depth + 1) for inner in value]


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, bool | int | float) and math.isfinite(value) else None


def _text(value: Any) -> str | None:
    """A short answer as text. Of a list of accepted answers, the first."""
    if isinstance(value, list) and value:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)
