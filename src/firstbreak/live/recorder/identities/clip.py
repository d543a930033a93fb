"""Where the ratio has left the clip range in the direction of the advantage, the loss has no gradient."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

MIN_TOKENS = 4  #: beyond the clip
WEAK = 0.1  #: of the gradient that the token would have without a clip: a penalty in the loss stays below


def measure(
    gradient: np.ndarray,
    advantages: np.ndarray,
    logps: np.ndarray,
    old_logps: np.ndarray,
    mask: np.ndarray,
    clip: float | np.ndarray,
) -> Mapping[str, Reading]:
    """clip_open: of the tokens beyond the clip range, the share with the gradient of an unclipped one. `clip`: as configured,
    one number, or (low, high)."""
    used, weighed = mask != 0, np.broadcast_to(advantages.reshape(len(logps), -1), logps.shape)
    ratio = np.exp(np.clip(logps - old_logps, -20, 20))
    low, high = np.broadcast_to(clip, 2)
    above, below = (ratio > 1 + high) & (weighed > 0), (ratio < 1 - low) & (weighed < 0)
    whole = np.abs(weighed) * ratio
    beyond, inside = used & (above | below), used & ~(above | below) & (whole > 0)
    if beyond.sum() < MIN_TOKENS or not inside.any() or not np.isfinite(gradient).all():
        return {}
    scale = float(np.median(np.abs(gradient[inside]) / whole[inside]))
    open_ = beyond & (np.abs(gradient) > WEAK * scale * whole) & (scale > 0)
    share, (i, t) = float(open_.sum() / beyond.sum()), np.unravel_index(int(np.argmax(open_)), open_.shape)
    said = f"row {i}: token {t} has the ratio {ratio[i, t]:.4g}, and the whole gradient"
    return {"clip_open": (share, said) if share else 0.0}
