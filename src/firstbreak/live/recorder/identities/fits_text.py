"""The right answer fits into the length limit: by its text, where its tokens are not known."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import row
from firstbreak.live.recorder.measuring import Reading


def measure(
    completions: Sequence[str],
    references: Sequence[str],
    lengths: np.ndarray,
    limit: float,
    needed: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """The share of completions that reach the limit of tokens, and are shorter there than the right answer."""
    if needed is not None or lengths.ndim != 1:
        return {}
    short = np.array(
        [len(text.strip()) < len(right.strip()) for text, right in zip(completions, references, strict=True)]
    )
    wrong = (lengths >= limit) & short
    share, i = float(wrong.mean()), int(np.argmax(wrong))
    said = f": {completions[i]!r} fills the {int(limit)} tokens, and the right answer is {references[i]!r}"
    return {"answer_too_long": (share, row(i, prompts, said)) if share > 0.5 else share}
