"""Bits per character under a model of how the policy wrote in the beginning.

The model is an interpolated byte trigram (Jelinek & Mercer, 1980), fitted to the first samples of every other prompt. These
samples are not measured, because a model predicts its own training data too well. A rise means that the policy writes new
text, a fall that it writes its most common text. All learning changes the value a little.
"""

from collections.abc import Sequence

import numpy as np

from firstbreak.audit.metrics import Measure
from firstbreak.audit.split_truth import PolicySample

UP, DOWN = "completions look less and less like those of the beginning", "completions become more and more ordinary"
WEIGHTS = (0.6, 0.3, 0.09)  #: of trigram, bigram and single byte; what is left is spread evenly
SHORTEST = 3  #: bytes
FEWEST = 64  #: samples that make a model


def against(baseline: Sequence[PolicySample]) -> Measure:
    prompts = dict.fromkeys(sample.prompt for sample in baseline)
    fitted = set(list(prompts)[::2])
    learned = [sample for sample in baseline if sample.prompt in fitted]
    if len(learned) < FEWEST:
        return lambda sample: float("nan")
    used = {id(sample) for sample in learned}
    pairs = np.zeros(1 << 16)
    triples: dict[int, float] = {}
    for sample in learned:
        codes = _codes(sample)
        np.add.at(pairs, codes[:-1] << 8 | codes[1:], 1)
        for triple, n in zip(*np.unique(_triples(codes), return_counts=True), strict=True):
            triples[int(triple)] = triples.get(int(triple), 0.0) + float(n)
    keys = np.array(sorted(triples), dtype=np.int64)
    counts = np.array([triples[key] for key in keys.tolist()])
    singles = pairs.reshape(256, 256).sum(axis=1)
    total = max(1.0, float(singles.sum()))

    def bits(sample: PolicySample) -> float:
        codes = _codes(sample)
        if len(codes) < SHORTEST or id(sample) in used:
            return float("nan")
        wanted = _triples(codes)
        at = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
        seen = np.where(keys[at] == wanted, counts[at], 0.0)
        before, last = codes[:-2] << 8 | codes[1:-1], codes[1:-1] << 8 | codes[2:]
        three, two, one = WEIGHTS
        p = three * seen / np.maximum(pairs[before], 1) + two * pairs[last] / np.maximum(singles[codes[1:-1]], 1)
        p += one * singles[codes[2:]] / total + (1 - sum(WEIGHTS)) / 256
        return float(-np.log2(p).mean())

    return bits


def _codes(sample: PolicySample) -> np.ndarray:
    return np.frombuffer(sample.completion.encode("utf-8", "replace"), np.uint8).astype(np.int64)


def _triples(codes: np.ndarray) -> np.ndarray:
    return np.asarray(codes[:-2] << 16 | codes[1:-1] << 8 | codes[2:])
