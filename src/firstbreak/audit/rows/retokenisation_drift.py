"""The tokens of a turn are not the tokens that were sampled.

In an episode of several turns, the token ids up to turn t must be a prefix of the ids up to turn t + 1. A chat template or a
decode-and-encode step between turns can change them. Then the policy is trained on tokens that it never sampled.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.split_truth import PolicySample
from firstbreak.engine.checks import seen_as, warning
from firstbreak.model import Link, NotMeasured
from firstbreak.words import percent

LINK = Link.ROLLOUT
TURNS = ("turns", "steps", "trace", "transitions")  #: where dumps keep an episode's turns
ASKED = ("prompt_ids", "prompt_token_ids", "prompt_tokens", "observation_ids", "ob")
WRITTEN = ("completion_ids", "response_ids", "response_token_ids", "completion_tokens", "action_ids", "ac")


def examine(evidence: AuditInputs) -> Found:
    pairs = [pair for _, sample in evidence.table.kept() for pair in _joints(sample)]
    if not pairs:
        return NotMeasured("no token ids of several turns are recorded (`turns`, with prompt_ids and completion_ids)")
    broken = [at for at in pairs if at is not None]
    if not broken:
        return None
    return warning(
        f"{percent(len(broken) / len(pairs))} of {len(pairs)} turns do not begin with the tokens of the turn before "
        f"(the first difference is at token {min(broken)}). Append the sampled ids, and never encode the text again",
        seen_as("samples.retokenisation-drift"),
        numbers={"share": len(broken) / len(pairs)},
    )


def _joints(sample: PolicySample) -> Iterator[int | None]:
    """For each pair of successive turns: the position of the first different token, None without a difference."""
    turns = next((t for name in TURNS if isinstance(t := sample.meta.get(name), list)), [])
    ids = [(_ids(turn, ASKED), _ids(turn, WRITTEN)) for turn in turns if isinstance(turn, dict)]
    for (asked, written), (later, _) in pairwise(ids):
        if asked and written and later:
            before = asked + written
            same = zip(before, later, strict=False)
            differs = next((i for i, (a, b) in enumerate(same) if a != b), None)
            yield differs if differs is not None or len(later) >= len(before) else len(later)


def _ids(turn: dict[str, Any], names: tuple[str, ...]) -> list[int]:
    found: list[int] = next((turn[name] for name in names if isinstance(turn.get(name), list)), [])
    return found if all(isinstance(token, int) for token in found) else []
