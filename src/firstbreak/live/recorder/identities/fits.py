"""The right answer fits into the length limit."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import row
from firstbreak.live.recorder.measuring import Reading


def measure(
    needed: np.ndarray, limit: float, ended: np.ndarray, prompts: Sequence[str] | None = None
) -> Mapping[str, Reading]:
    """The share of completions that were cut and whose right answer is longer than the limit.

    `needed` (n,): tokens of the right answer with its end; `limit`: of a completion; `ended` (n,): 1 where it was not cut.
    """
    wrong = (needed > limit) & (ended == 0)
    i = int(np.argmax(wrong))
    said = row(i, prompts, f": the right answer has {int(needed[i])} tokens with its end, the limit is {int(limit)}")
    share = float(wrong.mean())
    return {"answer_too_long": (share, said) if share > 0.5 else share}
