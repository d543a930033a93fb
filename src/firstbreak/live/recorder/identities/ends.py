"""The end of a text is sampled as often as the policy gives it probability."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

MIN_EXPECTED = 3.0  #: ends


def measure(end_logps: np.ndarray, mask: np.ndarray, ended: np.ndarray, fresh: bool) -> Mapping[str, Reading]:
    """The share of the expected ends that was not sampled. `end_logps` (n, T): of the end token at each position."""
    expected = float((np.exp(end_logps) * (mask != 0)).sum())
    if not fresh or expected < MIN_EXPECTED:
        return {}
    missing = 1 - float((ended != 0).sum()) / expected
    said = f"{expected:.3g} ends expected in {len(ended)} completions, {int((ended != 0).sum())} sampled"
    return {"ends_missing": (missing, said) if missing > 0.5 else missing}
