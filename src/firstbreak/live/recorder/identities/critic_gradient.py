"""The gradient of a critic's loss leads each value towards its own target."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

MIN_ROWS = 16
CLEAR = 0.01  #: of the spread of the distances: what lies nearer has no clear sign (convention)
NEARLY = 0.98  #: share of the rows


def measure(
    critic_values: np.ndarray, critic_targets: np.ndarray, critic_gradient: np.ndarray
) -> Mapping[str, Reading]:
    """The share of the rows whose gradient leads away from their target, all (m,), where that has a name: all of them do; the
    gradient depends on the value alone, as where (m, 1) and (m,) are spread out to (m, m); or it is that of other rows' targets.
    Any loss that grows with the distance, and any weights of rows, are right; no other gradient is judged."""
    off, g = critic_values - critic_targets, critic_gradient
    if len(g) != len(off) or len(g) < MIN_ROWS or not (np.isfinite(off).all() and np.isfinite(g).all()):
        return {}
    clear = (np.abs(off) > CLEAR * max(float(off.std()), 1e-12)) & (g != 0)
    wrong = clear & (np.sign(off) != np.sign(g))
    share = float(wrong.sum() / max(clear.sum(), 1))
    if clear.sum() < MIN_ROWS or share <= 1 - NEARLY:
        return {"value_led_astray": 0.0} if clear.sum() >= MIN_ROWS else {}
    order = np.argsort(critic_values, kind="stable")
    rises = np.diff(g[order]) >= -1e-4 * float(np.ptp(g))
    i, name = int(np.argmax(wrong)), ""
    if share >= NEARLY:
        name = "leads away from it"
    elif rises.all() and np.ptp(critic_values) > 0 and not (np.diff(off[order]) >= 0).all():
        name = "depends on the value and not on the target: look at the shapes (m, 1) and (m,)"
    elif (mean := float(g.mean())) and _reordered(critic_values - float(off.mean()) / mean * g, critic_targets):
        name = "is that of another row's target"
    said = f"row {i}: value {critic_values[i]:.4g}, target {critic_targets[i]:.4g}, and the gradient {name}"
    return {"value_led_astray": (share, said)} if name else {}


def _reordered(implied: np.ndarray, targets: np.ndarray) -> bool:
    near = 0.01 * float(np.std(targets))
    return bool(near > 0 and (np.abs(np.sort(implied) - np.sort(targets)) <= near).all())
