"""No sample is older than the configuration allows, and none is newer than the trainer."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.measuring import Reading

SLACK = 1  #: versions: a sample may be begun just before an update


def measure(
    versions: np.ndarray, version: float, mask: np.ndarray, oldest: float | None = None
) -> Mapping[str, Reading]:
    """sample_age: mean age of the sampled tokens in versions; age_beyond: share that no limit allows.

    `versions` (n, T): of the weights that sampled each token, `version`: of the trainer's, `oldest`: the largest age by plan.
    """
    used = (mask != 0) & (versions >= 0)
    if not used.any():
        return {}
    age = np.where(used, version - versions, 0.0)
    beyond = used & ((age < 0) | (age > (np.inf if oldest is None else oldest + SLACK)))
    found: dict[str, Reading] = {"sample_age": float(age.sum() / used.sum()), "age_beyond": 0.0}
    if beyond.any():
        i, t = np.argwhere(beyond)[0]
        limit = "" if oldest is None else f", and {oldest:g} versions of age are allowed"
        said = f"row {i}: token {t} was sampled by version {versions[i, t]:g}, at version {version:g}{limit}"
        found["age_beyond"] = float(beyond.sum() / used.sum()), said
    return found
