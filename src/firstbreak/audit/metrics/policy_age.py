"""Updates between the policy that made a sample and the step that trains on it.

The version is the field of the record with a name in VERSIONS, counted as the steps are. Harmless where the trainer corrects
for old data, up to the age that it is configured for.
"""

from typing import Any

from firstbreak.audit.split_truth import PolicySample
from firstbreak.readers._samples import VERSIONS

UP, DOWN = "samples come from older policies", "samples come from newer policies"


def measure(sample: PolicySample) -> float:
    found = next((v for name in VERSIONS if (v := oldest(sample.meta.get(name))) is not None), None)
    return float("nan") if found is None or sample.step is None else sample.step - found


def oldest(version: Any, depth: int = 0) -> float | None:
    """The oldest of one version, a list of them, or a list of pairs of a version and a count. Versions below 0 mean none."""
    if isinstance(version, list | tuple) and depth < 2:
        pairs = all(isinstance(v, list | tuple) and len(v) == 2 for v in version)
        known = [x for v in version if (x := oldest(v[0] if pairs else v, depth + 1)) is not None]
        return min(known) if known else None
    if isinstance(version, bool) or not isinstance(version, int | float) or not version >= 0:
        return None
    return float(version)
