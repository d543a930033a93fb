"""The right answer does not fit into the length limit.

## What it looks for
The recorder compares the number of tokens of the right answer, its end included, with the limit of a completion. The
check reports where more than `above` of the completions were cut and could not have held it.

## Why it matters
No completion can be right: all are cut.

## When it is a false alarm
A column with a long worked solution, of which a short answer is enough.

## Fix
- Raise {max_new_tokens}.

## Smallest experiment
Count the tokens of ten right answers.

## References
https://github.com/huggingface/trl
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_answer_too_long: Series,
    config: Config,
    *,
    above: float = at(0.8, "share", "Single answers may be longer than usual."),
) -> Finding | None:
    return proved(
        proof_answer_too_long,
        config,
        "{value:%} of the completions were cut at a limit that their right answer does not fit into: raise it",
        above=above,
    )
