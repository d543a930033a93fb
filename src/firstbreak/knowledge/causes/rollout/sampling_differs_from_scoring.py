"""Sampling and log-probabilities use different settings

## What happens
The engine samples at another temperature or from a truncated distribution, and the trainer computes log-probabilities with the
full distribution. The ratio is wrong from the first update on.

## When it is healthy
A mismatch metric that compares scaled with unscaled logits, and is constant.

## Fix
- Use the same {temperature} and {top_p} for sampling and for the log-probabilities.
- Check the ratio of the first minibatch: it must be 1.

## Smallest experiment
Run one update with {learning_rate} set to 0. The ratio must be 1 and the KL divergence 0; otherwise the settings differ.

## References
https://github.com/verl-project/verl/issues/4162
"""

from __future__ import annotations

from firstbreak.engine.families import GRADED, Policy, only
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.refutations import drawn_from_the_policy, stored_right_at_first
from firstbreak.knowledge.causes._evidence import configured
from firstbreak.model import Weight

PRIOR = 0.7
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
FINDINGS = {
    "samples-too-sure": 0.6,
    "samples-edited": 0.4,
    "samples-copied": 0.3,
    "ratio-not-one": 0.5,
    "first-update-not-on-policy": 0.7,
    "sampling-narrow": 0.4,
    "train-inference-mismatch": 0.6,
    "training-above-evaluation": 0.6,
    "samples-identical": 0.2,
    "importance-weight-off": 0.3,
    "entropy-stays-high": 0.2,
    "zero-variance-groups": 0.4,
    "score-lost": 0.3,
}
REFUTED_BY = (drawn_from_the_policy, stored_right_at_first)
EXPERIMENT = "same-tokens"


def weights(inputs: Inputs) -> list[Weight]:
    """Sampling options other than 1, which the log-probabilities have to be computed with."""
    known = {name: inputs.run.config.number(name) for name in ("temperature", "top_p")}
    changed = {name: value for name, value in known.items() if value is not None and value != 1}
    if None in known.values() or any(name in inputs.run.config.defaulted for name in known):
        return []
    if not changed:
        return [
            configured(
                "config", -0.5, "according to the configuration, rollouts are sampled at temperature 1 and top-p 1"
            )
        ]
    what = " and ".join(f"{name} {value:g}" for name, value in changed.items())
    return [configured("config", 1.0, f"rollouts are sampled with {what}")]
