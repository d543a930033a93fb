"""Share of the letters of a completion that are of another script than its prompt.

Scripts are told apart as Latin and everything else, which is what a policy that drifts between English and Chinese does.
Harmless where the prompt asks for a translation.
"""

from __future__ import annotations

import numpy as np

from firstbreak.audit.blind import PolicySample

UP = "completions switch to another script than their prompt's"
MOST = 4000  #: characters looked at
LAST_LATIN = 0x24F


def measure(sample: PolicySample) -> float:
    return (
        abs(_foreign(sample.completion[:MOST]) - _foreign(sample.prompt[:MOST])) if sample.completion else float("nan")
    )


def _foreign(text: str) -> float:
    """Share of the characters beyond Latin, those of general punctuation and symbols left out."""
    if not text or text.isascii():
        return 0.0
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    symbols = (codes >= 0x2000) & (codes < 0x2E80) | (codes >= 0x1F000) & (codes < 0x20000)
    return float(np.mean((codes > LAST_LATIN) & ~symbols))
