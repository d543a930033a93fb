"""The model never ends its answer

## What happens
From the first step on, nearly every completion runs into the length limit: the end-of-text token is masked in the loss, is
another one than generation waits for, or was never seen in fine-tuning. No answer is complete, whatever the limit is.

## When it is healthy
A base model in the first steps, whose cut completions become fewer.

## Fix
- Compare the end token of the tokenizer, of the chat template and of generation: they must be the same.
- Check that the end token counts in the loss, and that padding uses another token.
- Fine-tune on complete answers first.
- Stop generation at a string that ends the answer.

## Smallest experiment
Generate for 20 prompts with four times {max_new_tokens}: if the completions still do not end, the limit is not the reason.

## References
https://huggingface.co/docs/trl/chat_templates
"""

from __future__ import annotations

from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.refutations import hardly_any_is_cut
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight
from firstbreak.words import percent

NEARLY_ALL = 0.9  #: of the completions: a limit that is too short leaves more of them (convention)

PRIOR = 0.3
FAMILIES = only(Policy.TEXT, *SAMPLED)  # only policies that write text, and learn from what they wrote
FINDINGS = {
    "ends-not-sampled": 0.6,
    "sampled-tokens-left-out": 0.1,
    "truncation": 0.95,
    "reward-at-floor": 0.4,
    "reward-flat": 0.4,
    "zero-variance-groups": 0.3,
}
REFUTED_BY = (hardly_any_is_cut,)
EXPERIMENT = "longer-limit"


def weights(inputs: Inputs) -> list[Weight]:
    """Nearly all completions are cut, from the first step to the last."""
    cut = inputs.truncation
    if cut is None or not len(cut.finite):
        return []
    least = min(median(part.values) for part in (cut.finite.head(0.1), cut.finite.tail(0.5)))
    text = f"at least {percent(least)} of the completions are cut, at the start and later"
    return [configured("truncation", 2.0 if least >= NEARLY_ALL else -2.0, text)]
