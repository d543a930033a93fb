"""Chosen texts are far less probable than rejected ones before training.

## What it looks for
With DPO, the recorder compares the first batch's chosen and rejected texts under the untrained policy. The check reports where
a token of a chosen text is less probable by more than `above` nats, in the median of the pairs.

## Why it matters
Texts that stand beside the wrong prompt, are cut or are made by another template are improbable. Training makes them probable
all the same.

## When it is a false alarm
Chosen texts in a language or a form that the policy has never seen.

## Fix
- Print five pairs with their prompts, decoded after the collator, and read whether the chosen texts answer the prompts.

## Smallest experiment
Compare the probability of the chosen texts under their own prompts with that under another prompt.

## References
https://arxiv.org/abs/2305.18290
"""

from __future__ import annotations

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_chosen_unlikely: Series,
    config: Config,
    *,
    above: float = at(1.5, "nats a token", "Texts of a stronger model are a few tenths less probable."),
) -> Finding | None:
    what = "a token of the chosen texts is {value:n} nats less probable than one of the rejected texts: read five pairs"
    return proved(proof_chosen_unlikely, config, what, above=above)
