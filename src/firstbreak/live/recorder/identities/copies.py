"""Two samples of a prompt are equal as often as the policy's own probability of the text says."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np

from firstbreak.live.recorder.measuring import Reading

EXCESS = 0.3  #: of the pairs, from which on a pair is named
ROUNDING = 0.02  #: nats a token: the same tokens differ by less, in another batch or place (convention)


def measure(
    prompts: Sequence[str],
    completions: Sequence[str],
    old_logps: np.ndarray,
    mask: np.ndarray,
    fresh: bool,
    shown: Callable[[str], str] = str,
) -> Mapping[str, Reading]:
    """The share of pairs of one prompt that are equal, less the share that is expected. `shown`: the text of what is compared.

    Copies have the same tokens, and so the same probability: other tokens of the same text, as " yes" and "yes" once they are
    stripped, are none.
    """
    places: dict[str, list[int]] = {}
    for i, prompt in enumerate(prompts):
        places.setdefault(prompt, []).append(i)
    pairs = [pair for members in places.values() for pair in combinations(members, 2)]
    if not fresh or len(pairs) < 8 or old_logps.shape != mask.shape:
        return {}
    used = mask != 0
    logps = old_logps * used
    chance = np.exp(np.minimum(logps.sum(1), 0))

    def same(i: int, j: int) -> bool:
        apart = float(np.abs(logps[i] - logps[j]).sum())
        return completions[i] == completions[j] and apart <= ROUNDING * max(used[i].sum(), used[j].sum())

    equal = [same(i, j) for i, j in pairs]
    excess = float(np.mean(equal) - np.mean([(chance[i] + chance[j]) / 2 for i, j in pairs]))
    if excess <= EXCESS or not any(equal):
        return {"copies": excess}
    i, j = next(pair for pair, copied in zip(pairs, equal, strict=True) if copied)
    prompt, text = shown(prompts[i])[-60:], shown(completions[i])[:60]
    return {"copies": (excess, f"rows {i} and {j} of the prompt {prompt!r} are one text, {text!r}")}
