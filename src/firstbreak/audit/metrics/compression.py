"""Size of a completion after compression by its size before: how much of it is information.

Short texts compress badly whatever they say, so only texts of at least 200 bytes count. Harmless for tables and code.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.metrics import Measure

DOWN = "less information in each character"
SHORTEST = 200


def against(baseline: Sequence[PolicySample]) -> Measure:
    return _ratio


def _ratio(sample: PolicySample) -> float:
    data = sample.completion.encode("utf-8", "replace")
    return len(zlib.compress(data, 1)) / len(data) if len(data) >= SHORTEST else float("nan")
