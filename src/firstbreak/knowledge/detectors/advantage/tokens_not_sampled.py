"""Tokens that a tool or the environment wrote are part of the loss.

Looks for: Logged numbers of tokens: those in the loss, those that the model wrote and those of tools or of the environment. The
check reports where in nearly every row those in the loss are the sum of both, or those of tools alone.
Why: The policy learns to say what tools answer, or nothing of its own: text that it never chose gets its advantage.
False alarm: A loss of imitation on purpose, on whole conversations.
Fix:
- Set the mask of the loss to 1 on the tokens that the model sampled, and to 0 on all that tools or the environment wrote.
Experiment: Print one conversation with its mask below it.
References: https://arxiv.org/abs/2503.09516
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.model import Finding, NotMeasured, Role, Run, Series
from firstbreak.patterns import pattern

ROLES = (Role.RELATION,)
FAMILIES = only(Policy.TEXT)
TOKENS = pattern(r"tok|mask|len", re.IGNORECASE)
OF_LOSS, OF_TOOLS, OF_MODEL = (
    pattern(rf"(?:^|[^a-z])(?:{words})(?:[^a-z]|$)", re.IGNORECASE)
    for words in (
        "loss|trained|train|masked_in|counted|learned",
        "tools?|env|environment|obs|observations?|state|sandbox|results?",
        "model|agent|assistant|asst|policy|gen|generated|response|completion|own",
    )
)


def detect(
    run: Run,
    *,
    most: float = at(0.95, "share", "Of the rows: a row may be cut off."),
    min_rows: int = at(10, "rows", "Fewer rows may be equal by chance."),
) -> Finding | NotMeasured | None:
    named = {name: s.finite for name, s in run.unknown.items() if TOKENS.search(name)}
    named |= {
        s.raw: s.finite
        for s in run.series.values()
        if TOKENS.search(s.raw) and s.name.startswith(("length.", "tokens."))
    }
    of_loss, of_tools, of_model = (_first(named, kind) for kind in (OF_LOSS, OF_TOOLS, OF_MODEL))
    if (
        of_loss is None
        or of_tools is None
        or len(of_loss) < min_rows
        or not np.array_equal(of_loss.steps, of_tools.steps)
    ):
        return NotMeasured("the tokens in the loss and those of tools are not both logged")
    used = of_tools.values > 0
    if used.sum() < min_rows:
        return None
    own = of_model.values if of_model is not None and len(of_model) == len(of_loss) else np.full(len(of_loss), np.nan)
    for said, whole in (
        ("those of the model and of tools together", own + of_tools.values),
        ("those of tools alone", of_tools.values),
    ):
        if float(np.mean(of_loss.values[used] == whole[used])) >= most:
            return critical(
                "the loss has {loss} tokens in the median, and these are {said} in nearly every row ({tools} are of tools): text "
                "that the policy did not choose is trained; set the mask to 0 on it",
                seen_in(of_loss, of_loss.name, beside={"tokens of tools": of_tools}),
                loss=facts.median(of_loss),
                said=said,
                tools=facts.median(of_tools),
            )
    return None


def _first(named: dict[str, Series], kind: re.Pattern[str]) -> Series | None:
    return next((s for name, s in named.items() if kind.search(name)), None)
