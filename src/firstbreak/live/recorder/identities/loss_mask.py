"""A token counts in the loss where it was sampled, and nowhere else."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import counted, row
from firstbreak.live.recorder.measuring import Reading

SINGLE = 0.02  #: share of the rows: a policy samples a padding token itself now and then


def measure(
    mask: np.ndarray,
    lengths: np.ndarray,
    exempt: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """`exempt` (n,): rows that are left out on purpose, such as those that were cut at the length limit.

    `lengths` (n,): sampled tokens, from the first on, or (n, T): which of them.
    """
    rows = np.ones(len(mask), bool) if exempt is None else exempt == 0
    sampled, used = counted(lengths, mask.shape[1])[rows], (mask != 0)[rows]
    if not sampled.any():
        return {}
    extra, missing = used & ~sampled, sampled & ~used
    found: dict[str, Reading] = {"mask_extra": 0.0, "mask_missing": 0.0}
    places = np.flatnonzero(rows)
    for name, wrong, of, what in (
        ("mask_extra", extra, used, "counts and was not sampled"),
        ("mask_missing", missing, sampled, "was sampled and does not count"),
    ):
        if wrong.any(1).mean() > SINGLE:
            i, t = np.argwhere(wrong)[0]
            at = row(int(places[i]), prompts, f": token {t} of {int(sampled[i].sum())} {what}")
            found[name] = float(wrong.sum() / max(of.sum(), 1)), at
    return found
