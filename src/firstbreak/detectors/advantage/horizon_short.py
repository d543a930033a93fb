"""The discount forgets before an episode has shown what an action was worth.

## What it looks for
The horizon 1 / (1 - {gamma}) against the length of the episodes that the policy reaches: below `share` of it, and shorter
than the `usual` one. In text, where a token is a step, any discount below 1 that forgets within `share` of a completion.

## Why it matters
What lies beyond the horizon is worth nothing to the policy: it learns what pays at once. Scores rise a little and then
stay far below what the task allows.

## When it is a false alarm
Tasks whose reward follows the action at once, where a short horizon only removes noise. Long games: 0.99 is usual where
episodes last thousands of steps (Atari, locomotion), and 0.98 among tuned options, so neither is reported.

## Fix
- {gamma} = 1 - 1 / (length of an episode), 0.99 where that is unknown; 1 for completions with one reward at the end.
- Look for a second discount, in a wrapper that shapes the reward or normalises it.

## Smallest experiment
{gamma} = 0.99 for a tenth of the run, same seed: the score passes the old one.

## References
https://arxiv.org/abs/1506.02438
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number


def detect(
    config: Config,
    family: str | None = None,
    episode_length: Series | None = None,
    length_mean: Series | None = None,
    solved: bool | None = None,
    *,
    share: float = 0.04,
    usual: float = 50.0,
) -> Finding | NotApplicable | NotMeasured | None:
    if family in ("group", "preference"):
        return NotApplicable("the reward of a whole completion is credited to each of its tokens, without a discount")
    gamma = config.number("gamma")
    if gamma is None or "gamma" in config.defaulted:
        return NotMeasured("the discount is not recorded")
    if gamma >= 1:
        return None
    lengths = next((s.finite for s in (episode_length, length_mean) if s is not None and len(s.finite)), None)
    if lengths is None:
        return NotMeasured("how long episodes last is not logged")
    length, horizon = float(np.max(lengths.values)), 1 / (1 - gamma)
    enough = min(share * length, usual) if lengths.name == "episode.length" else share * length
    if horizon > 0.99 * enough or solved:
        return None
    return Finding(
        message=(
            f"a discount of {number(gamma)} looks {number(horizon)} steps ahead and episodes last {number(length)}: "
            "what happens later counts for nothing; try 0.99"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if horizon < share * length / 2 else Confidence.MEDIUM,
        metric=lengths.name,
        onset=float(lengths.steps[0]),
        interval=(float(lengths.steps[0]), float(lengths.steps[0])),
        evidence=(Evidence(text="length of an episode", series=lengths, level=horizon),),
        facts={"horizon": horizon, "length": length},
    )
