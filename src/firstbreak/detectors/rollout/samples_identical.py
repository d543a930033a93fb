"""Completions of one prompt are copies of each other from the first step on.

## What it looks for
The share of distinct completions at the first steps, against the least that is possible (one in each group): within
`near` of it, while the policy's entropy says that it is not certain of its answers.

## Why it matters
A policy with entropy gives different answers when it is sampled. Where it does not, the sampler does not sample: one
seed for the whole group, greedy decoding, a cache that answers. Groups of copies have equal rewards and teach nothing.

## When it is a false alarm
A policy that is certain from the start (its entropy is near 0), or prompts with one possible answer.

## Fix
- Give each completion of a group its own seed, and check that n > 1 is really sampled and not repeated.
- Check that the engine does not decode greedily ({temperature} 0) and that no prefix cache returns finished answers.

## Smallest experiment
Sample one prompt 16 times from the engine and count distinct answers.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

FIRST = 5  #: points


def detect(
    config: Config,
    diversity: dict[str, Series] | None = None,
    policy_entropy: Series | None = None,
    *,
    near: float = 1.15,
    uncertain: float = 0.1,
) -> Finding | NotMeasured | None:
    distinct = next((s.finite for s in (diversity or {}).values() if len(s.finite) >= FIRST), None)
    group = config.number("group_size")
    if distinct is None or group is None or group < 4:
        return NotMeasured("the share of distinct completions, or the size of a group, is not recorded")
    if policy_entropy is None or not len(policy_entropy.finite):
        return NotMeasured("the entropy of the policy is not logged")
    share = float(np.median(distinct.values[:FIRST]))
    entropy = float(np.median(policy_entropy.finite.values[:FIRST]))
    if share > near / group or entropy < uncertain:
        return None
    first = float(distinct.steps[0])
    return Finding(
        message=(
            f"{percent(share)} of the completions are distinct in groups of {number(group)}, though the policy is "
            f"uncertain (entropy {number(entropy)}): the sampler repeats itself; sample one prompt 16 times and count "
            "distinct answers"
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=distinct.name,
        onset=first,
        interval=(first, first),
        evidence=(Evidence(text="distinct completions", series=distinct, level=1 / group),),
        facts={"share": share},
    )
