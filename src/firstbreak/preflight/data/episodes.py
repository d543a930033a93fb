"""Recorded episodes with tools: are those whose calls all failed kept as successes?"""

from collections.abc import Sequence
from pathlib import Path

from firstbreak.engine.stats.proportion import wilson
from firstbreak.knowledge.detectors.reward.failed_calls_paid import detect
from firstbreak.model import Sample, Samples
from firstbreak.preflight import Answer, warning
from firstbreak.preflight.data.rows import Row
from firstbreak.readers._samples import samples_of
from firstbreak.readers.tool_turns import ToolTurn, succeeded, tool_turns
from firstbreak.values import replace
from firstbreak.words import percent

OUTCOMES = ("success", "solved", "resolved", "passed", "is_correct", "correct", "done")
FEW = 0.02  #: share of the episodes: below it, failures are accidents of the recording (convention)


def episodes(found: Sequence[Row], path: str) -> list[Sample]:
    """The rows that are episodes with answers of tools; the outcome is the reward where no reward is recorded."""
    dumped = samples_of(map(_shaped, found), Path(path))
    return [_graded(s) for s in dumped if any(t.failed is not None for t in _turns(s))]


def failed_calls(kept: Sequence[Sample]) -> Answer:
    """Episodes whose calls all failed, and what they are worth."""
    if any(sample.reward is not None for sample in kept):
        return detect(Samples(lambda: iter(kept), ()))
    failed = sum(succeeded(_turns(sample)) is False for sample in kept)
    if wilson(failed, len(kept))[0] <= FEW:
        return f"{failed} of {len(kept)} episodes with tools have failed calls only"
    return warning(
        f"in {failed} of {len(kept)} episodes with tools ({percent(failed / len(kept))}) all calls failed, and nothing says "
        "that the episode did: they are learned as if they had succeeded. Remove them, or record their outcome."
    )


def _shaped(row: Row) -> Row:
    """A row with a conversation and no completion has its turns in `messages`, beside whatever reward it has."""
    told = next((row[n] for n in ("messages", "conversation", "trajectory") if isinstance(row.get(n), list)), None)
    return row if told is None or "completion" in row else {**row, "messages": told, "reward": row.get("reward")}


def _turns(sample: Sample) -> tuple[ToolTurn, ...]:
    return tool_turns(sample.messages or sample.completion)


def _graded(sample: Sample) -> Sample:
    told = (sample.meta.get(name) for name in OUTCOMES)
    outcomes = (float(value) for value in told if isinstance(value, bool | int | float))
    return sample if sample.reward is not None else replace(sample, reward=next(outcomes, None))
