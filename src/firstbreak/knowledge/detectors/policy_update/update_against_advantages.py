"""Updates make good completions less probable.

## What it looks for
Before and after an update, the recorder computes the log-probabilities of the best and the worst completions of its
batch. The check reports where advantages and changes disagree: their product is below -`above` of its size in the
median of the measured updates.

## Why it matters
The loss may be right: the step is not.

## When it is a false alarm
A learning rate that is so high that an update forgets its own batch; step-far reports that.

## Fix
- Check the optimizer: `maximize`, a negative learning rate, a gradient that is negated in a hook.

## Smallest experiment
Train on one batch: after the update, its best completion must be more probable.

## References
https://arxiv.org/abs/2402.03300
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series
from firstbreak.values import replace

ROLES = (Role.PROOF,)


def detect(
    proof_step_gain: Series,
    config: Config,
    *,
    above: float = at(0.3, "correlation", "An update of a sound run has 0.5 or more at its own batch."),
) -> Finding | None:
    turned = replace(proof_step_gain, values=-proof_step_gain.values)
    if not len(turned.finite) or float(np.median(turned.finite.values)) <= above:
        return None
    what = "updates lower the log-probability of good completions: check the optimizer's direction"
    return proved(proof_step_gain, config, what, below=-above)
