"""Before training, chosen texts of preference pairs are about as probable as rejected ones."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading


def measure(pair_logps: np.ndarray, pair_counted: np.ndarray) -> Mapping[str, Reading]:
    """chosen_unlikely: nats that a token of a chosen text is less probable than one of a rejected text, in the median pair.

    `pair_logps` (2 n, T) of an untrained policy, chosen texts first, then rejected ones; `pair_counted`: 1 for their tokens.
    """
    tokens = pair_counted.sum(1)
    if len(tokens) % 2 or not tokens.all():
        return {}
    each = (pair_logps * pair_counted).sum(1) / tokens
    chosen, rejected = np.split(each, 2)
    less = float(np.median(rejected - chosen))
    said = f"a token of a chosen text has {np.median(chosen):.4g} nats, of a rejected one {np.median(rejected):.4g}"
    return {"chosen_unlikely": (less, said) if less > 0.5 else less}
