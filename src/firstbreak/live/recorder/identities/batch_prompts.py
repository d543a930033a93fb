"""The groups of a batch have different prompts, and the next batch has others."""

from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import members
from firstbreak.live.recorder.identities.prompts import FEW
from firstbreak.live.recorder.measuring import Reading

MIN_GROUPS = 4


def measure(
    prompts: Sequence[str],
    group: float | Sequence[str] | np.ndarray,
    training_prompts: Sequence[str] | None = None,
    repeated: int = 0,
    different: float | None = None,
) -> Mapping[str, Reading]:
    """prompt_everywhere: the share of the groups that have the most frequent prompt; batch_repeated: batches before that had
    these prompts in this order (`repeated`). A task of a few prompts repeats them by right, and so does one that is not known to
    have more prompts than the batch: `different` of them in the data, or in `training_prompts`.
    """
    if training_prompts is not None and len(set(training_prompts)) <= FEW:
        return {}
    groups = ([prompts[int(i)] for i in rows] for rows in members(group, len(prompts)) if len(rows))
    first = [texts[0] for texts in groups if len(set(texts)) == 1]  # mixed groups have no prompt of their own
    if len(first) < MIN_GROUPS:
        return {}
    prompt, times = Counter(first).most_common(1)[0]
    share = times / len(first)
    said = f"{times} of {len(first)} groups have the prompt {prompt[-60:]!r}"
    more = different if different is not None else len(set(training_prompts or ()))
    again = f"the groups begin with {first[0][-60:]!r} and {first[1][-60:]!r}, as in {repeated} batches before"
    return {
        "prompt_everywhere": (share, said) if share > 0.5 else share,
        "batch_repeated": (float(repeated), again) if repeated and more > len(set(first)) else 0.0,
    }
