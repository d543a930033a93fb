"""Share of the completions to other prompts that have the same skeleton: how they begin and how they end.

Numbers and names are masked, so one text with the numbers of each prompt counts as one template. Completions of the same
prompt are not compared; `outputs-alike` checks these. Harmless where the task requires a fixed form.
"""

import re
from collections import Counter
from collections.abc import Sequence

from firstbreak.audit.metrics._units import ends
from firstbreak.audit.split_truth import PolicySample

UP, DOWN = "completions follow one template", "completions follow a template less"
WORDS = 4  #: of either end
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")


def among(samples: Sequence[PolicySample]) -> list[float]:
    """For each sample the share of samples of other prompts with the same skeleton. NaN without other prompts."""
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
