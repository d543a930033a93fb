"""The completions of a group belong to one prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from firstbreak.inside.batch import Reading
from firstbreak.inside.identities._rows import row


def measure(prompts: Sequence[str], group: int) -> Mapping[str, Reading]:
    """The share of groups with completions of several prompts."""
    groups = [prompts[i : i + group] for i in range(0, len(prompts), group)]
    mixed = [i for i, members in enumerate(groups) if len(set(members)) > 1]
    if not mixed:
        return {"group_mixed": 0.0}
    first = mixed[0] * group
    other = next(i for i in range(first, first + group) if prompts[i] != prompts[first])
    return {"group_mixed": (len(mixed) / len(groups), f"{row(first, prompts)} and {row(other, prompts)} share a group")}
