"""Diversity of behaviour: how many different strategies does the policy use, per prompt and over time?

Two completions have the same *strategy* if their skeletons are equal: the opening words, the length (in powers of two), the
markdown and layout, tool calls and code. Numbers and names do not count, so a hundred sums in the same form are one strategy.
No model is used, so the groups are exact and can be read. With a sentence-embedding model, the strategies are clusters of
meanings instead; see `embeddings`.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from firstbreak.audit.embeddings import Embed, clusters
from firstbreak.audit.split_truth import PolicySample
from firstbreak.audit.table import SampleTable
from firstbreak.engine.inputs import SampledDiversity
from firstbreak.engine.stats.direction import departure
from firstbreak.model import Interval, Series

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
OPENING = 3  #: words
SEVERAL, ONE = 3.0, 1.5  #: effective numbers of strategies


def strategy(sample: PolicySample) -> Hashable:
    """The skeleton of a completion."""
    text = sample.completion
    return (
        _opening(sample),
        round(math.log2(len(text) + 1)),
        "```" in text,
        "**" in text or "\n#" in text,
        "\n- " in text or "\n1. " in text,
        len(sample.turns),
    )


def _opening(sample: PolicySample) -> str:
    return " ".join(_NUMBER.sub("0", sample.completion[:200]).lower().split()[:OPENING])[:40]


def diversity(table: SampleTable, embed: Embed | None = None) -> SampledDiversity | None:
    """The diversity; None without kept samples. `embed`: distinguish strategies by meaning instead of form."""
    kept = [(step, row.kept) for step, row in table.rows if row.kept]
    if not kept:
        return None
    steps = np.array([step for step, _ in kept])
    texts = Series(name="samples.distinct-texts", steps=steps, values=np.array([_distinct(s) for _, s in kept]))
    kinds = _kinds([samples for _, samples in kept], len(table.baseline()), embed)
    effective = np.array([_effective(of_step) for of_step in kinds])
    strategies = Series(name="samples.strategies", steps=steps, values=effective)
    (commonest, n), *_ = Counter(kinds[-1]).most_common(1)
    typical = kept[-1][1][kinds[-1].index(commonest)]
    left = _became_alike(texts, strategies)
    return SampledDiversity(
        texts=texts,
        strategies=strategies,
        commonest=_opening(typical),
        share=n / len(kept[-1][1]),
        one_text=_one_text([sample for _, samples in kept[-max(1, len(kept) // 4) :] for sample in samples]),
        step=left[0] if left else None,
        interval=left[1] if left else None,
    )


def _kinds(kept: Sequence[Sequence[PolicySample]], baseline: int, embed: Embed | None) -> list[list[Hashable]]:
    """The strategy of each sample of each step."""
    if embed is None:
        return [[strategy(sample) for sample in samples] for samples in kept]
    labels = clusters(embed([sample.completion for samples in kept for sample in samples]), baseline)
    return [list(part.tolist()) for part in np.split(labels, np.cumsum([len(samples) for samples in kept])[:-1])]


def _became_alike(texts: Series, strategies: Series) -> tuple[float, Interval] | None:
    """Since when there is one strategy: after several, or with hardly a text of its own for each completion."""
    texts = texts.finite
    (had, left), (early, late) = (
        [float(np.median(part.values)) if len(part) else math.nan for part in (curve.head(0.25), curve.tail(0.25))]
        for curve in (strategies, texts)
    )
    if len(strategies) < 4 or left > ONE:
        return None
    alike = len(texts) >= 4 and early > 0.5 and late <= 0.35
    return departure(texts if alike else strategies, direction=-1) if alike or had >= SEVERAL else None


def _distinct(samples: Sequence[PolicySample]) -> float:
    """Mean share of different texts among the completions of a prompt. NaN where every prompt has one completion."""
    prompts: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        prompts[sample.group or sample.prompt].append(sample.completion)
    shares = [(len(set(texts)) - 1) / (len(texts) - 1) for texts in prompts.values() if len(texts) > 1]
    return float(np.mean(shares)) if shares else math.nan


def _effective(kinds: Sequence[Hashable]) -> float:
    n = len(kinds)
    return math.exp(-sum(c / n * math.log(c / n) for c in Counter(kinds).values()))


def _one_text(samples: Sequence[PolicySample]) -> float:
    """The share of the prompts of which a completion is the commonest text of all."""
    (text, _), *_ = Counter(sample.completion for sample in samples).most_common(1)
    prompts = {sample.prompt for sample in samples}
    same = {sample.prompt for sample in samples if sample.completion == text}
    return len(same) / len(prompts) if len(prompts) > 2 else 0.0
