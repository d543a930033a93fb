"""A token counts in the loss where it was sampled, and nowhere else."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import SINGLE, row
from firstbreak.live.recorder.identities._rows import sampled as sampled_in
from firstbreak.live.recorder.identities.sampling import surprise
from firstbreak.live.recorder.measuring import Reading

CLEAR = 4.0  #: standard errors


def measure(
    mask: np.ndarray,
    lengths: np.ndarray,
    exempt: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
    tool_mask: np.ndarray | None = None,
    logps: np.ndarray | None = None,
    entropies: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """`exempt` (n,): rows that are left out on purpose, such as those that were cut at the length limit.

    `lengths` and `tool_mask`: as `_rows.sampled` takes them. two_readings: share of the tokens that are left out, where they lie
    between others, and neither `tool_mask` nor the policy's surprise tells whether a tool wrote them.
    """
    rows = np.ones(len(mask), bool) if exempt is None else exempt == 0
    table, known = sampled_in(lengths, mask != 0, tool_mask)
    sampled, used = table[rows], (mask != 0)[rows]
    if not sampled.any():
        return {}
    extra, missing = used & ~sampled, sampled & ~used
    if not known and missing.any() and logps is not None and entropies is not None and logps.shape == mask.shape:
        z = surprise(logps[rows][missing], entropies[rows][missing])[1]
        missing &= abs(z) <= CLEAR  # else the policy did not sample them
    found: dict[str, Reading] = {"mask_extra": 0.0, "mask_missing": 0.0}
    places = np.flatnonzero(rows)
    for name, wrong, of, what in (
        ("mask_extra", extra, used, "counts and was not sampled"),
        ("mask_missing", missing, sampled, "was sampled and does not count" if known else "does not count"),
    ):
        if wrong.any(1).mean() > SINGLE:
            i, t = np.argwhere(wrong)[0]
            at = row(int(places[i]), prompts, f": token {t} of {int(sampled[i].sum())} {what}")
            found[name] = float(wrong.sum() / max(of.sum(), 1)), at
    if not known:
        found["two_readings"] = found.pop("mask_missing")
    return found
