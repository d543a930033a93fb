"""Diversity at the level of behaviour: how many different things does the policy do, per prompt and over time?

Two completions are the same *strategy* where their skeletons are equal: how they open, how long they are (in octaves),
how they are decorated and laid out, whether they call tools or write code. Numbers and names do not count, so that a
hundred sums worked out in one way are one strategy. No model is asked; the groups are exact, and can be read. With a model
of sentence embeddings at hand, the clusters of their meanings are the strategies instead; see `embeddings`.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.embeddings import Embed, clusters
from firstbreak.audit.metrics._calls import calls
from firstbreak.audit.table import Table
from firstbreak.model import Interval, Series
from firstbreak.stats.direction import departure

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
OPENING = 3  #: words


@dataclass(frozen=True, kw_only=True, eq=False)
class Diversity:
    """Over the steps, from the samples that were kept of each."""

    texts: Series  #: share of a prompt's completions that are different texts
    strategies: Series  #: effective number of strategies among the samples of a step (exponential of the entropy)
    commonest: str  #: the commonest strategy of the last step, as its opening
    share: float  #: of that strategy
    step: float | None  #: since when the outputs look the same
    interval: Interval | None

    @property
    def alike(self) -> bool:
        """All outputs look the same: one strategy, and hardly a text of its own."""
        return self.step is not None


def strategy(sample: PolicySample) -> Hashable:
    """The skeleton of a completion."""
    text = sample.completion
    return (
        _opening(sample),
        round(math.log2(len(text) + 1)),
        "```" in text,
        "**" in text or "\n#" in text,
        "\n- " in text or "\n1. " in text,
        len(calls(text)),
    )


def _opening(sample: PolicySample) -> str:
    return " ".join(_NUMBER.sub("0", sample.completion[:200]).lower().split()[:OPENING])[:40]


def diversity(table: Table, embed: Embed | None = None) -> Diversity | None:
    """None where no sample was kept. `embed`: tells strategies apart by what completions say, not by their form."""
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
    return Diversity(
        texts=texts,
        strategies=strategies,
        commonest=_opening(typical),
        share=n / len(kept[-1][1]),
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
    texts = texts.finite
    late = texts.tail(0.25)
    if len(texts) < 4 or float(np.median(late.values)) > 0.35 or float(np.median(strategies.tail(0.25).values)) > 1.5:
        return None
    return departure(texts, direction=-1) if float(np.median(texts.head(0.25).values)) > 0.5 else None


def _distinct(samples: Sequence[PolicySample]) -> float:
    """Mean share of different texts among the completions of a prompt that has several; NaN where none has."""
    prompts: dict[str, list[str]] = defaultdict(list)
    for sample in samples:
        prompts[sample.group or sample.prompt].append(sample.completion)
    shares = [(len(set(texts)) - 1) / (len(texts) - 1) for texts in prompts.values() if len(texts) > 1]
    return float(np.mean(shares)) if shares else math.nan


def _effective(kinds: Sequence[Hashable]) -> float:
    n = len(kinds)
    return math.exp(-sum(c / n * math.log(c / n) for c in Counter(kinds).values()))
