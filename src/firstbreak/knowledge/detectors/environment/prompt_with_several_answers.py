"""One prompt has several right answers.

## What it looks for
The recorder compares the prompts of the data, or of the batches of a loop, with the right answers beside them. The check
reports where more than `above` of the prompts that occur more than once stand beside different answers.

## Why it matters
No policy can give two right answers to one prompt. Either the prompts have lost what tells them apart, or the answers
belong to other prompts.

## When it is a false alarm
Tasks with several right answers, and games whose first prompt is always the same.

## Fix
- Print the prompts that the message names as the model gets them: a limit, a split or a template may have cut them.
- Join answers and prompts by id after shuffling and filtering.

## Smallest experiment
Answer five of these prompts by hand, from what the model is shown.

## References
https://arxiv.org/abs/1709.06560
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_prompt_torn: Series,
    config: Config,
    *,
    above: float = at(0.5, "share", "Data sets hold a prompt twice by mistake."),
) -> Finding | None:
    what = "{value:%} of the prompts that occur more than once have different right answers: read some as the model gets them"
    return proved(proof_prompt_torn, config, what, above=above)
