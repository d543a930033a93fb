"""Size of the end of a completion after compression, divided by its size before: the share of information.

The same number of bytes is always compressed, because longer texts compress better. Shorter completions
do not count. Harmless for tables and code.
"""

import zlib
from collections.abc import Sequence

from firstbreak.audit.metrics import Measure
from firstbreak.audit.split_truth import PolicySample

DOWN = "less information in each character"
WINDOW = 200  #: bytes


def against(baseline: Sequence[PolicySample]) -> Measure:
    return _ratio


def _ratio(sample: PolicySample) -> float:
    data = sample.completion[-WINDOW:].encode("utf-8", "replace")[-WINDOW:]
    return len(zlib.compress(data, 1)) / WINDOW if len(data) == WINDOW else float("nan")
