"""Completions of one prompt are copies of each other from the first step on.

## What it looks for
The share of distinct completions at the first steps, against the lowest share that is possible (one in each group). A finding
is a share of at most `max_ratio` times the lowest one, while the policy's entropy shows that several answers are probable.

## Why it matters
Samples of a policy with entropy differ. Where they do not, the engine does not sample: one seed for the whole group, greedy
decoding, or a cache that returns finished answers. Groups of copies have equal rewards, and give no advantage to learn from.

## When it is a false alarm
A policy whose entropy is near 0 from the start, or prompts with one possible answer.

## Fix
- Give each completion of a group its own seed, and check that all completions of a group are sampled, not copied.
- Check that the engine does not decode greedily ({temperature} 0), and that no prefix cache returns finished answers.

## Smallest experiment
Sample one prompt 16 times from the engine, and count the distinct answers.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in
from firstbreak.engine.families import Policy
from firstbreak.model import Confidence, Config, Finding, NotApplicable, NotMeasured, Role, Series, Severity

ROLES = (Role.RELATION,)


def detect(
    config: Config,
    diversity: dict[str, Series] | None = None,
    policy_entropy: Series | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    max_ratio: float = at(
        1.15,
        "ratio",
        "of the share of distinct completions to the lowest possible one: a few groups may hold two answers",
    ),
    min_entropy: float = at(
        0.1, "nats", "with less entropy the policy gives one answer with nearly all of the probability"
    ),
    min_group_size: int = at(4, "completions", "in smaller groups completions are equal by chance too often"),
    first_points: int = at(5, "points", "the first points show the sampler before the policy has changed"),
) -> Finding | NotApplicable | NotMeasured | None:
    if diversity is None and policy is not Policy.TEXT:
        return NotApplicable("only for policies that write text")
    distinct = next((s.finite for s in (diversity or {}).values() if len(s.finite) >= first_points), None)
    group = config.number("group_size")
    if distinct is None or group is None or group < min_group_size:
        return NotMeasured("the share of distinct completions, or the size of a group, is not recorded")
    if policy_entropy is None or not len(policy_entropy.finite):
        return NotMeasured("the entropy of the policy is not logged")
    share = float(np.median(distinct.values[:first_points]))
    entropy = float(np.median(policy_entropy.finite.values[:first_points]))
    if share > max_ratio / group or entropy < min_entropy:
        return None
    return Finding(
        message=facts.tell(
            "{share:%} of the completions are distinct in groups of {group}, although the policy has an entropy of {entropy}: "
            "the engine returns copies; sample one prompt 16 times, and count the distinct answers",
            share=facts.median(distinct.head(first_points / len(distinct))),
            group=facts.setting(config, "group_size"),
            entropy=facts.median(policy_entropy.finite.head(first_points / len(policy_entropy.finite))),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        **seen_in(distinct, "distinct completions", level=1 / group),
        numbers={"share": share},
    )
