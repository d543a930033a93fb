"""A completion that is the right answer gets more than a wrong one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.inside.batch import Reading
from firstbreak.inside.identities._rows import last_word, row, total

MIN_ROWS = 4  #: right ones, and wrong ones
USUAL = 0.5  #: share of the right completions that end in one way (convention)


def measure(
    completions: Sequence[str],
    references: Sequence[str],
    rewards: np.ndarray,
    reward_weights: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """The share of right completions that get no more than wrong ones do on average."""
    known = total(rewards, reward_weights)
    solved = np.array([last_word(c) == r.strip() for c, r in zip(completions, references, strict=True)])
    solved &= _of_one_form(completions, solved)
    right, wrong = np.flatnonzero(solved & np.isfinite(known)), np.flatnonzero(~solved & np.isfinite(known))
    if min(len(right), len(wrong)) < MIN_ROWS:
        return {}
    unpaid = known[right] <= known[wrong].mean()
    i = int(right[int(np.argmax(unpaid))])
    said = row(i, prompts, f": {completions[i][-40:]!r} is right and gets {known[i]:.4g}")
    share = float(unpaid.mean())
    return {"reward_unpaid": (share, said) if share > 0.5 else share}


def _of_one_form(completions: Sequence[str], solved: np.ndarray) -> np.ndarray:
    """The rows with the most usual word before the right answer; none where it is before less than half of them.

    `The answer is 7` and `= 7` are forms; noise that ends in the right word by chance has none.
    """
    forms = [(text.split()[-2:-1] or [""])[0] for text in completions]
    usual = Counter(form for form, right in zip(forms, solved, strict=True) if right).most_common(1)
    if not usual or usual[0][1] < USUAL * solved.sum():
        return np.zeros(len(completions), bool)
    return np.array([form == usual[0][0] for form in forms])
