"""The right answer fits into the length limit."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import row
from firstbreak.live.recorder.measuring import Reading


def measure(
    limit: float,
    needed: np.ndarray | None = None,
    ended: np.ndarray | None = None,
    completions: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    lengths: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """The share of completions that were cut and whose right answer is longer than the limit of tokens.

    `needed` (n,): tokens of the right answer with its end; `ended` (n,): 1 where it was not cut. Without them, the text of a
    completion that has as many tokens as the limit is shorter than the right answer's.
    """
    if needed is not None and ended is not None:
        wrong = (needed > limit) & (ended == 0)
        i = int(np.argmax(wrong))
        said = f": the right answer has {int(needed[i])} tokens with its end, the limit is {int(limit)}"
    elif completions is not None and references is not None and lengths is not None and lengths.ndim == 1:
        pairs = zip(completions, references, strict=True)
        wrong = (lengths >= limit) & [len(text.strip()) < len(right.strip()) for text, right in pairs]
        i = int(np.argmax(wrong))
        said = f": {completions[i]!r} fills the {int(limit)} tokens, and the right answer is {references[i]!r}"
    else:
        return {}
    share = float(wrong.mean())
    return {"answer_too_long": (share, row(i, prompts, said)) if share > 0.5 else share}
