"""The ratio is the new probability over the old one, and 1 before the first update on a batch."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

TOLERANCE = {"ratio_first": 0.02, "ratio_error": 0.01}  #: means: 16 bits in other batch sizes give up to 0.01
FAR = 20.0  #: nats: a ratio beyond is not compared


def measure(
    logps: np.ndarray, old_logps: np.ndarray, mask: np.ndarray, fresh: bool = False, ratio: np.ndarray | None = None
) -> Mapping[str, Reading]:
    """Over the tokens of the loss, ratio_first: mean distance of the own ratio from 1 on a fresh batch; ratio_error: of the
    `ratio` in use from the own one, as a share of it."""
    used, apart = mask != 0, logps - old_logps
    if not used.any():
        return {}
    own = np.exp(np.clip(apart, -FAR, FAR))
    found: dict[str, Reading] = {}
    wrong = None if ratio is None else np.where(np.abs(apart) < FAR, np.abs(ratio - own) / own, 0.0) * used
    for name, off in (("ratio_first", np.abs(own - 1) * used if fresh else None), ("ratio_error", wrong)):
        if off is None:
            continue
        mean, (i, t) = float(off.sum() / used.sum()), np.unravel_index(int(np.argmax(off)), off.shape)
        said = f"row {i}: token {t} had {old_logps[i, t]:.4g} nats when stored, and has {logps[i, t]:.4g} before any update"
        if ratio is not None and name == "ratio_error":
            said = f"row {i}: ratio {ratio[i, t]:.4g}, and from the log-probabilities {own[i, t]:.4g}"
        found[name] = (mean, said) if mean > TOLERANCE[name] else mean
    return found
