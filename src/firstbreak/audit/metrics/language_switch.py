"""Share of the letters of a completion in another script than its prompt.

Two scripts are distinguished: Latin and all others. This detects a policy that switches between English and Chinese.
Harmless where the prompt asks for a translation.
"""

import numpy as np

from firstbreak.audit.split_truth import PolicySample

UP = "completions switch to another script than their prompt's"
MOST = 4000  #: characters that are used
LAST_LATIN = 0x24F


def measure(sample: PolicySample) -> float:
    written, asked = _foreign(sample.completion[:MOST]), _foreign(sample.prompt[:MOST])
    return abs(written - asked) if sample.completion else float("nan")


def _foreign(text: str) -> float:
    """Share of the characters beyond Latin, those of general punctuation and symbols left out."""
    if not text or text.isascii():
        return 0.0
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    symbols = (codes >= 0x2000) & (codes < 0x2E80) | (codes >= 0x1F000) & (codes < 0x20000)
    return float(np.mean((codes > LAST_LATIN) & ~symbols))
