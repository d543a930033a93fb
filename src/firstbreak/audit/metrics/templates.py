"""Share of the completions to other prompts that have the same skeleton: how they begin and how they end.

Numbers and names are masked, so that one text into which each prompt's figures are filled in counts as one. Completions of
the same prompt are not compared: that these are alike is `outputs-alike`. Harmless where the task asks for a form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics._units import ends

UP, DOWN = "completions follow one template", "completions follow a template less"
WORDS = 4  #: of either end
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def among(samples: Sequence[PolicySample]) -> list[float]:
    """For each sample the share of those of other prompts that it could be taken for; NaN where there are none."""
    prompts = [sample.group or sample.prompt for sample in samples]
    skeletons = [skeleton(sample.completion) for sample in samples]
    same, here, both = Counter(skeletons), Counter(prompts), Counter(zip(prompts, skeletons, strict=True))
    others = [len(samples) - here[prompt] for prompt in prompts]
    alike = [same[s] - both[prompt, s] for prompt, s in zip(prompts, skeletons, strict=True)]
    return [n / of if of else float("nan") for n, of in zip(alike, others, strict=True)]


def skeleton(text: str) -> tuple[str, ...]:
    """The first and the last words of a text, numbers and names masked.

    >>> skeleton("The train to Paris leaves at 9. So it takes 2.5 hours.")
    ('The', 'train', 'to', 'A', 'it', 'takes', '0', 'hours.')
    """
    words = [_NUMBER.sub("0", word) for word in ends(text).split()]
    masked = ["A" if i and word[0].isupper() else word for i, word in enumerate(words)]
    return (*masked[:WORDS], *masked[-WORDS:])
