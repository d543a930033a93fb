"""Size of a completion's end after compression by its size before: how much of it is information.

Always the same number of bytes is compressed, because longer texts compress better whatever they say; shorter completions
do not count. Harmless for tables and code.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics import Measure

DOWN = "less information in each character"
WINDOW = 200  #: bytes


def against(baseline: Sequence[PolicySample]) -> Measure:
    return _ratio


def _ratio(sample: PolicySample) -> float:
    data = sample.completion[-WINDOW:].encode("utf-8", "replace")[-WINDOW:]
    return len(zlib.compress(data, 1)) / WINDOW if len(data) == WINDOW else float("nan")
