"""Before the first update, reference and policy give a token one probability; later, the policy leaves the reference."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.05  #: nats, mean over tokens: 16-bit arithmetic gives 0.01


def measure(
    logps: np.ndarray, ref_logps: np.ndarray, mask: np.ndarray, untrained: bool = False, fresh: bool = False
) -> Mapping[str, Reading]:
    """The mean distance in nats: reference_start where no update was made yet (`untrained`), reference_gap on a fresh batch."""
    used = mask != 0
    if not used.any():
        return {}
    off = np.abs(logps - ref_logps) * used
    mean, (i, t) = float(off.sum() / used.sum()), np.unravel_index(int(np.argmax(off)), off.shape)
    said = f"row {i}: the policy gives token {t} {logps[i, t]:.4g} nats, the reference {ref_logps[i, t]:.4g}"
    found: dict[str, Reading] = {"reference_gap": mean} if fresh else {}
    return found | {"reference_start": (mean, said) if mean > TOLERANCE else mean} if untrained else found
