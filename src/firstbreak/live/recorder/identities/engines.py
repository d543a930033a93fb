"""The engine that sampled and the trainer give a token the same probability, where both had the same weights."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

LIMIT = 0.2  #: nats a token, mean: engines in 16 bits differ by 0.01 to 0.05
FAR = 1.0  #: nats
MIN_TOKENS = 32


def measure(
    engine_logps: np.ndarray,
    trainer_logps: np.ndarray,
    mask: np.ndarray,
    versions: np.ndarray | None = None,
    version: float | None = None,
) -> Mapping[str, Reading]:
    """engine_gap: mean distance in nats a token; engine_tail: share of the tokens that lie more than a nat apart.

    `versions` (n, T): of the weights that sampled each token, `version`: of the trainer's. Only tokens of this version count.
    """
    used = (mask != 0) & np.isfinite(engine_logps) & np.isfinite(trainer_logps)
    if versions is not None and version is not None:
        used &= versions == version
    if used.sum() < MIN_TOKENS:
        return {}
    off = np.abs(np.where(used, engine_logps - trainer_logps, 0.0))
    gap, (i, t) = float(off.sum() / used.sum()), np.unravel_index(int(np.argmax(off)), off.shape)
    said = f"row {i}: token {t} had {engine_logps[i, t]:.4g} nats in the engine, and has {trainer_logps[i, t]:.4g}"
    return {"engine_gap": (gap, said) if gap > LIMIT else gap, "engine_tail": float((off > FAR).sum() / used.sum())}
