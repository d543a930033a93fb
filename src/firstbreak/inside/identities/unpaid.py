"""A completion that is the right answer gets more than a wrong one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.inside.batch import Reading
from firstbreak.inside.identities._rows import last_word, row, total

MIN_ROWS = 4  #: right ones, and wrong ones


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
    """The rows whose text around the right answer is the most usual one: noise may end in the right word by chance."""
    forms = [text.strip().removesuffix(last_word(text)) for text in completions]
    usual = Counter(form for form, right in zip(forms, solved, strict=True) if right).most_common(1)
    return np.array([bool(usual) and form == usual[0][0] for form in forms])
