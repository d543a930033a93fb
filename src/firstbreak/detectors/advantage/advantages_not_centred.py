"""The advantages of one prompt's completions do not cancel.

## What it looks for
The largest absolute mean advantage over the prompts of a batch (`advantage.of_prompt_absmax`), in group-relative methods,
against the spread of the advantages: above `share` of it for most of the run.

## Why it matters
A group baseline is the mean reward of the prompt's own completions, so its advantages average to 0. Where they do not,
completions are compared with those of other prompts: the policy is praised for easy prompts, not for good answers.

## When it is a false alarm
Leave-one-out baselines scaled by G / (G - 1) still average to 0; filters that drop completions after the advantage was
computed leave a small rest.

## Fix
- Check the index that assigns completions to prompts, after every shuffle, filter and gather.
- Compute the baseline before anything reorders the batch.

## Smallest experiment
Print group id, prompt and advantage of one batch: each prompt's advantages must sum to 0.

## References
https://arxiv.org/abs/2402.03300
https://github.com/PeterGriffinJin/Search-R1/pull/88
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.words import number

EARLY = 0.25  #: share of the run
PENALISED = 0.2  #: coefficient of the divergence penalty above which it shows in the advantages


def detect(
    advantage_of_prompt_absmax: Series,
    config: Config,
    family: str | None = None,
    advantage_std: Series | None = None,
    *,
    share: float = 0.4,
    least: float = 0.5,
    min_points: int = 5,
) -> Finding | NotApplicable | NotMeasured | None:
    if family not in ("group", None):
        return NotApplicable("the baseline is a critic's, so a prompt's advantages need not cancel")
    if (config.number("kl_coef") or 0.0) > PENALISED:
        return NotApplicable(
            "a strong penalty for leaving the reference is part of the advantages, and need not cancel"
        )
    rest = advantage_of_prompt_absmax.finite
    if len(rest) < min_points:
        return NotMeasured(f"{len(rest)} values are too few (needs {min_points})")
    # The early spread: when all rewards have become equal, what is left of the advantages is the penalty's share.
    scale = (
        float(np.median(advantage_std.finite.head(EARLY).values))
        if advantage_std is not None and len(advantage_std.finite)
        else 1.0
    )
    limit = share * max(scale, least)
    late = float(np.median(rest.tail(0.5).values))
    if late <= limit:
        return None
    since = first_sustained(rest, lambda values: values > limit)
    return Finding(
        message=(
            f"the advantages of a prompt's completions leave {number(late)} (spread {number(scale)}) instead of 0: "
            "they are compared with other prompts; check the index that assigns completions to groups"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        metric="advantage.of_prompt_absmax",
        onset=since,
        interval=None if since is None else (since, since),
        evidence=(Evidence(text="largest mean advantage of a prompt", series=rest, since=since, level=limit),),
        facts={"rest": late / scale if scale > 0 else late},
    )
