"""The gradient of a step is what the backward passes since the step before gave, and nothing that was left of it."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.measuring import Reading

EXACT = 1 - 1e-6  #: cosine: gradients may be scaled, and clipped by their norm
APART = 0.99  #: cosine: of two gradients that are as alike, none is told from their sum (convention)


def measure(kept: Sequence[np.ndarray]) -> Mapping[str, Reading]:
    """gradient_kept, 1 or 0. `kept`: a few elements (k,) of a weight's gradient that the step before left, that the passes since
    gave together, and of this step."""
    left, given, held = kept
    if not np.isfinite([left, given, held]).all() or min(map(_size, (left, given, held))) == 0:
        return {}
    if abs(_alike(left, given)) > APART or _alike(held, given) >= EXACT:
        return {} if abs(_alike(left, given)) > APART else {"gradient_kept": 0.0}
    said = "an update has the gradient of the update before added to its own"
    return {"gradient_kept": (1.0, said)} if _alike(held, given + left) >= EXACT else {}


def _size(values: np.ndarray) -> float:
    return float(np.linalg.norm(values))


def _alike(a: np.ndarray, b: np.ndarray) -> float:
    """The cosine of the angle between two gradients."""
    return float(a @ b) / max(_size(a) * _size(b), 1e-300)
