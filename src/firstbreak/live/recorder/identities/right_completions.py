"""A completion that is the right answer gets more than a wrong one."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import last_word, plain, row, total
from firstbreak.live.recorder.measuring import Reading

MIN_ROWS = 4  #: right ones, and wrong ones
USUAL = 0.5  #: share of the right completions that end in one way (convention)


def measure(
    completions: Sequence[str],
    references: Sequence[str],
    rewards: np.ndarray,
    reward_weights: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """reward_unpaid: the share of right completions that get no more than wrong ones do on average; reward_blind: of the prompts
    with right and wrong completions, the share for which all get the same.

    Where the right answer is paid in another form, within brackets or behind a word, only that form is right.
    """
    known = total(rewards, reward_weights)
    solved = np.array([last_word(c) == r.strip() for c, r in zip(completions, references, strict=True)])
    solved &= _of_one_form(completions, solved)
    solved |= [plain(c) == plain(r) != "" for c, r in zip(completions, references, strict=True)]
    holds = np.array([r.strip() in c for c, r in zip(completions, references, strict=True)])
    right, wrong = np.flatnonzero(solved & np.isfinite(known)), np.flatnonzero(~solved & ~holds & np.isfinite(known))
    if min(len(right), len(wrong)) < MIN_ROWS:
        return {}
    unpaid = known[right] <= known[wrong].mean()
    forms = [c.replace(r.strip(), "", 1).split() for c, r in zip(completions, references, strict=True)]
    paid = [forms[i] for i in np.flatnonzero((solved | holds) & (known > known[wrong].mean()))]
    if paid and not any(forms[i] in paid for i in right[unpaid]):
        return {"reward_unpaid": 0.0, "reward_blind": 0.0}
    i = int(right[int(np.argmax(unpaid))])
    said = row(i, prompts, f": {completions[i][-40:]!r} is right and gets {known[i]:.4g}")
    share = float(unpaid.mean())
    own: dict[str, Reading] = {"reward_unpaid": (share, said) if share else share, "right_rows": float(len(right))}
    return own | _blind(known, right, wrong, prompts)


def _blind(
    known: np.ndarray, right: np.ndarray, wrong: np.ndarray, prompts: Sequence[str] | None
) -> dict[str, Reading]:
    rows: dict[str, tuple[list[int], list[int]]] = {}
    if prompts is None:
        return {}
    for k, some in enumerate((right, wrong)):
        for i in some:
            rows.setdefault(prompts[i], ([], []))[k].append(int(i))
    both = [(solved, failed) for solved, failed in rows.values() if solved and failed]
    if len(both) < MIN_ROWS:
        return {}
    blind = [(solved, failed) for solved, failed in both if np.ptp(known[solved + failed]) == 0]
    share, of = len(blind) / len(both), float(len(both))
    if not blind:
        return {"reward_blind": share, "mixed_prompts": of}
    solved, failed = blind[0]
    said = row(solved[0], prompts, f" is right, row {failed[0]} is wrong, and both get {known[solved[0]]:.4g}")
    return {"reward_blind": (share, said), "mixed_prompts": of}


def _of_one_form(completions: Sequence[str], solved: np.ndarray) -> np.ndarray:
    """The rows with the most usual word before the right answer; none where it is before less than half of them.

    `The answer is 7` and `= 7` are forms; noise that ends in the right word by chance has none.
    """
    forms = [(text.split()[-2:-1] or [""])[0] for text in completions]
    usual = Counter(form for form, right in zip(forms, solved, strict=True) if right).most_common(1)
    if not usual or usual[0][1] < USUAL * solved.sum():
        return np.zeros(len(completions), bool)
    return np.array([form == usual[0][0] for form in forms])
