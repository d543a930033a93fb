"""Sampled answers repeat the same few words over and over.

## What it looks for
Samples in which fewer than a tenth of the words differ, as a share of the last hundred samples.

## Why it matters
A policy that loops fills the length limit with tokens that teach nothing, and some rewards pay for it.

## When it is a false alarm
Tasks whose right answer is a repetition. Short answers are left out.

## Fix
- Read three of the samples; give a penalty for repetition, or end the episode when it begins.

## Smallest experiment
Score the same prompts with and without the looping samples: if the reward rises with them, it pays for them.

## References
https://arxiv.org/abs/1904.09751
"""

from __future__ import annotations

from collections import deque

from firstbreak.model import Confidence, Evidence, Finding, Link, Samples, Severity
from firstbreak.words import percent

LINK = Link.ROLLOUT


def detect(
    samples: Samples, *, recent: int = 100, min_words: int = 20, variety: float = 0.1, share: float = 0.3
) -> Finding | None:
    last = [sample.completion.split() for sample in deque(samples, maxlen=recent)]
    long = [words for words in last if len(words) >= min_words]
    loops = sum(len(set(words)) < variety * len(words) for words in long)
    if not last or loops < share * len(last):
        return None
    found = f"{percent(loops / len(last))} of the last {len(last)} samples repeat the same few words"
    return Finding(
        message=f"{found}: read three of them, and end episodes that loop",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        evidence=(Evidence(text=found),),
    )
